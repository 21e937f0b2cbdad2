import { REVISION_PATTERN } from '../domain/model-name.ts'

const ONLY_REVISION = `^${REVISION_PATTERN}`
const IS_REVISION = new RegExp(ONLY_REVISION)

/**
 * Whether a limit for `pattern` is about `model`. A name is about its revisions too: calls name `gpt-4o`, and their
 * answers, and so the totals, name `gpt-4o-2024-08-06`. By its exact text such a limit would count nothing.
 *
 * @param pattern A name, or a beginning of names and `*`.
 */
export function coversModel(pattern: string, model: string): boolean {
  if (pattern.endsWith('*')) return model.startsWith(pattern.slice(0, -1))
  if (!model.startsWith(pattern)) return false
  return model.length === pattern.length || IS_REVISION.test(model.slice(pattern.length))
}

/** The same in SQL, of two expressions. */
export function coversModelInSql(pattern: string, model: string): string {
  return `(case when right(${pattern}, 1) = '*' then starts_with(${model}, left(${pattern}, -1))
    else ${model} = ${pattern} or (starts_with(${model}, ${pattern})
      and substr(${model}, length(${pattern}) + 1) ~ '${ONLY_REVISION}') end)`
}
