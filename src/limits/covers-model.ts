import { REVISION_PATTERN } from '../domain/model-name.ts'

/** Ollama says `:latest` of every model that names no size. */
const ONLY_REVISION = `^(?:${REVISION_PATTERN}|:latest$)`
const IS_REVISION = new RegExp(ONLY_REVISION)
/** Gemini takes its names with this before them, and says them so. */
const LISTED = 'models/'

/**
 * Whether a limit for `pattern` is about `model`. A name is about its revisions too: calls name `gpt-4o`, and their
 * answers, and so the totals, name `gpt-4o-2024-08-06`. By its exact text such a limit would count nothing. Nor may
 * another spelling that servers take be a way around it: capital letters, or `models/` before the name.
 *
 * @param pattern A name, or a beginning of names and `*`.
 */
export function coversModel(pattern: string, model: string): boolean {
  const name = bareOf(model)
  const limited = bareOf(pattern)
  if (limited.endsWith('*')) return name.startsWith(limited.slice(0, -1))
  if (!name.startsWith(limited)) return false
  return (
    name.length === limited.length ||
    IS_REVISION.test(name.slice(limited.length)) ||
    name.includes(mentionOf(limited))
  )
}

/**
 * A name that each of these patterns is about and no other one: `gpt-4o-2024*gpt-4o*` of `gpt-4o` and `gpt-4o-2024*`,
 * of which neither is about all that the other is about.
 *
 * @param patterns All that are about one model.
 */
export function nameOfAll(patterns: readonly string[]): string {
  const texts = patterns.map(bareOf)
  const beginnings = texts.map((text) => (text.endsWith('*') ? text.slice(0, -1) : text))
  const longest = beginnings.reduce((one, other) => (other.length > one.length ? other : one))
  const names = texts.filter((text) => !text.endsWith('*'))
  return `${longest}*${[...new Set(names)].map((name) => `${name}*`).join('')}`
}

/** How a name of several patterns says that it is about this one. */
function mentionOf(limited: string): string {
  return `*${limited}*`
}

function bareOf(name: string): string {
  const lower = name.toLowerCase()
  return lower.startsWith(LISTED) ? lower.slice(LISTED.length) : lower
}

/** The same in SQL, of two expressions. */
export function coversModelInSql(pattern: string, model: string): string {
  const limited = bareInSql(pattern)
  const name = bareInSql(model)
  return `(case when right(${pattern}, 1) = '*' then starts_with(${name}, left(${limited}, -1))
    else ${name} = ${limited} or (starts_with(${name}, ${limited})
      and (substr(${name}, length(${limited}) + 1) ~ '${ONLY_REVISION}'
        or strpos(${name}, concat('*', ${limited}, '*')) > 0)) end)`
}

function bareInSql(expression: string): string {
  return `regexp_replace(lower(${expression}), '^${LISTED}', '')`
}
