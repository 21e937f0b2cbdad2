import { MAX_COUNT } from '../usage.ts'
import { integerOrNull, isObject, throwMalformed } from './json-checks.ts'

/** The member `key` of an object, with the counts that are not `null`; empty where all are. */
export function serialiseCounts<Name extends string>(
  key: string,
  names: readonly Name[],
  counts: Readonly<Record<Name, number | null>>,
): string {
  let text = ''
  for (const name of names) {
    const count = counts[name]
    if (count !== null) text += text === '' ? `"${name}":${count}` : `,"${name}":${count}`
  }
  return text === '' ? '' : `,"${key}":{${text}}`
}

/** Counts by name; `none`, the very object, where there are none, as readers skip that. Throws `RefusedValue`. */
export function countsFrom<Name extends string>(
  names: readonly Name[],
  none: Readonly<Record<Name, number | null>>,
  value: unknown,
): Readonly<Record<Name, number | null>> {
  if (value === undefined) return none
  if (!isObject(value)) return throwMalformed()
  const counts: Record<Name, number | null> = { ...none }
  for (const name of names) counts[name] = integerOrNull(value[name], MAX_COUNT)
  return counts
}
