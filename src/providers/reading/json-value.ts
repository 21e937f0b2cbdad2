import { isObject, type JsonObject } from '../../domain/json.ts'

export type { JsonObject } from '../../domain/json.ts'

/** `value` if it is a JSON object, else `null`: arrays, strings, numbers and `null` have no members to read. */
export function objectIn(value: unknown): JsonObject | null {
  return isObject(value) ? value : null
}

/** `value` if it is an array, else an empty one. */
export function arrayIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The objects in an array; what is none is left out. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return arrayIn(value).filter(isObject)
}

/** `value` if it is a string that is not empty, else `null`. */
export function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** The object under `key`, or `null` where `parent` is none or has none there. */
export function member(parent: unknown, key: string): JsonObject | null {
  return isObject(parent) ? objectIn(parent[key]) : null
}
