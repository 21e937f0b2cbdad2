/** Walking JSON as bytes without building what it says, for bodies that are read for two or three of their keys. */

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_BRACE = 0x7b
export const OPEN_BRACKET = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_BRACE = 0x7d
export const CLOSE_BRACKET = 0x5d

/** Strings are first looked at byte by byte: calling the native search costs as much as some fifty such steps. */
const NEAR_BYTES = 48

export const SCALAR = 0
const BETWEEN = 1
export const OPENING = 2
export const CLOSING = 3
export const QUOTING = 4
export const FOREIGN = 5

/**
 * The meaning of a byte outside of strings. Whatever JSON does not know there (comments, other quotes, NUL) is
 * foreign: lenient parsers read it differently, so what is read would depend on the parser.
 */
export const MEANING = new Uint8Array(256).fill(FOREIGN)
for (const [meaning, bytes] of [
  [SCALAR, '+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'],
  [BETWEEN, ' \t\r\n,:'],
  [OPENING, '{['],
  [CLOSING, '}]'],
  [QUOTING, '"'],
] as const) {
  for (const byte of Buffer.from(bytes, 'latin1')) MEANING[byte] = meaning
}

/**
 * How many values the JSON in `body` holds, in objects and arrays of any depth, give or take the empty ones: what
 * decides how much memory parsing it takes. Counting stops above `limit`.
 */
export function countJsonValues(body: Buffer, limit: number): number {
  let values = 1
  for (let at = 0; at < body.length && values <= limit; at++) {
    const byte = body[at]
    if (byte === QUOTE) {
      at = stringEnd(body, at + 1)
      if (at < 0) break
    } else if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      values++
    }
  }
  return values
}

/** The offset of the first byte at or after `at` that is not JSON's white space. */
export function spaceEnd(body: Buffer, at: number): number {
  let end = at
  while (end < body.length) {
    const byte = body[end]
    if (byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB) break
    end++
  }
  return end
}

/** The offset of the quote that ends the string whose first byte is at `from`, or -1. */
export function stringEnd(body: Buffer, from: number): number {
  let at = from
  let near = from + NEAR_BYTES
  while (at < body.length) {
    const byte = body[at]
    if (byte === QUOTE) return at
    at += byte === BACKSLASH ? 2 : 1
    if (at < near) continue
    const quote = body.indexOf(QUOTE, at)
    if (quote < 0) return -1
    let escapes = quote
    while (escapes > at && body[escapes - 1] === BACKSLASH) escapes--
    if ((quote - escapes) % 2 === 0) return quote
    at = quote + 1
    near = at + NEAR_BYTES
  }
  return -1
}

/** The offset behind the object or array that begins at `from`, or -1 when its end is not there. */
export function nestedEnd(body: Buffer, from: number): number {
  let depth = 0
  for (let at = from; at < body.length; at++) {
    const meaning = MEANING[body[at] ?? 0] ?? FOREIGN
    if (meaning < OPENING) continue
    if (meaning === QUOTING) {
      at = stringEnd(body, at + 1)
      if (at < 0) return -1
    } else if (meaning === OPENING) {
      depth++
    } else if (meaning === CLOSING) {
      depth--
      if (depth === 0) return at + 1
    } else {
      return -1
    }
  }
  return -1
}

const STRUCTURE = [QUOTE, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] as const

/** Finds quotes, brackets and braces far ahead: over long lists of numbers, five native searches of the whole are cheap. */
export class StructureSearch {
  readonly #bytes: Buffer
  /** By byte of {@link STRUCTURE}, where it stands next, as far as that was asked. */
  readonly #next = STRUCTURE.map(() => -1)

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Position of the nearest at or behind `from`, which never gets smaller; behind the bytes: there is none. */
  nearest(from: number): number {
    const next = this.#next
    let nearest = this.#bytes.length
    for (let index = 0; index < STRUCTURE.length; index += 1) {
      let at = next[index] ?? 0
      if (at < from) {
        const found = this.#bytes.indexOf(STRUCTURE[index] ?? 0, from)
        at = found < 0 ? this.#bytes.length : found
        next[index] = at
      }
      if (at < nearest) nearest = at
    }
    return nearest
  }
}
