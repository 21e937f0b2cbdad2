// Checks of values in a record's JSON. Each returns its value or throws `RefusedValue`, so that a reader is one
// literal in which every field has one line.

import { isObject, type JsonObject, parsedJson } from '../../domain/json.ts'

/** A value that no gateway writes. Readers turn it into `null`: it never leaves the codec. */
export class RefusedValue extends Error {}

// One for all: damaged bodies come in large numbers, and a stack for each would be the larger part of their cost.
const REFUSED = new RefusedValue('a value that no gateway writes')

const TRACE = /^[0-9a-f]{32}$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** The digits that `numeric(38,0)` holds. */
const PICO = /^(?:0|[1-9][0-9]{0,37})$/

export function throwMalformed(): never {
  throw REFUSED
}

/** The object that `text` is the JSON of. */
export function objectFrom(text: string): JsonObject {
  const value = parsedJson(text)
  return isObject(value) ? value : throwMalformed()
}

export function textFrom(value: unknown): string {
  return typeof value === 'string' ? value : throwMalformed()
}

export function textOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : textFrom(value)
}

export function textOrAbsent(value: unknown): string | undefined {
  return value === undefined ? undefined : textFrom(value)
}

export function uuidFrom(value: unknown): string {
  return typeof value === 'string' && UUID.test(value) ? value : throwMalformed()
}

/** 32 hexadecimal digits, of a trace. */
export function traceOrAbsent(value: unknown): string | undefined {
  if (value === undefined) return undefined
  return typeof value === 'string' && TRACE.test(value) ? value : throwMalformed()
}

export function wordFrom<Word extends string>(words: readonly Word[], value: unknown): Word {
  for (const word of words) if (word === value) return word
  return throwMalformed()
}

/** An integer from 0 to `highest`, which is a safe one. */
export function integerFrom(value: unknown, highest: number): number {
  return Number.isInteger(value) && typeof value === 'number' && value >= 0 && value <= highest
    ? value
    : throwMalformed()
}

export function integerOrAbsent(value: unknown, highest: number): number | undefined {
  return value === undefined ? undefined : integerFrom(value, highest)
}

export function integerOrNull(value: unknown, highest: number): number | null {
  return value === undefined || value === null ? null : integerFrom(value, highest)
}

/** Pico-USD in decimal. */
export function picoFrom(value: unknown): string {
  return typeof value === 'string' && PICO.test(value) ? value : throwMalformed()
}

export function picoOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : picoFrom(value)
}

export function picoOrAbsent(value: unknown): string | undefined {
  return value === undefined ? undefined : picoFrom(value)
}

/** Absent: false. */
export function flagFrom(value: unknown): boolean {
  return value === undefined ? false : typeof value === 'boolean' ? value : throwMalformed()
}

export function trueOrAbsent(value: unknown): true | undefined {
  return value === undefined || value === true ? value : throwMalformed()
}
