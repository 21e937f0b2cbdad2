/** Walking JSON as bytes without building what it says, for bodies that are read for two or three of their keys. */

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACE = 0x7d
const BACKSLASH = 0x5c

/** Strings are first looked at byte by byte: calling the native search costs as much as some fifty such steps. */
const NEAR_BYTES = 48

const SCALAR = 0
const BETWEEN = 1
const OPENING = 2
const CLOSING = 3
const QUOTING = 4
const FOREIGN = 5

/**
 * What a byte means outside of strings. Whatever JSON does not know there (comments, other quotes, NUL) is
 * foreign: lenient parsers read it differently, and a reading that depends on the parser is no reading.
 */
const MEANING = new Uint8Array(256).fill(FOREIGN)
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
 * One member of an object, as offsets into the body: the key without its quotes, the value with everything.
 * Ends are exclusive.
 */
export type OnMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void

/**
 * Walks the object whose `{` stands at `start` and tells each of its own members; nested values are passed over.
 * Gives the offset behind its `}`, or -1 when the bytes are not such an object: keys, colons, commas and the
 * ends of strings are held to JSON, the inside of nested values only to balanced depth. Linear in the bytes
 * passed over, and flat: nesting costs no stack.
 */
export function walkObject(body: Buffer, start: number, onMember: OnMember): number {
  if (body[start] !== OPEN_BRACE) return -1
  let at = spaceEnd(body, start + 1)
  if (body[at] === CLOSE_BRACE) return at + 1
  for (;;) {
    if (body[at] !== QUOTE) return -1
    const keyEnd = stringEnd(body, at + 1)
    if (keyEnd < 0) return -1
    const colon = spaceEnd(body, keyEnd + 1)
    if (body[colon] !== COLON) return -1
    const valueStart = spaceEnd(body, colon + 1)
    const valueEnd = jsonValueEnd(body, valueStart)
    if (valueEnd < 0) return -1
    onMember(at + 1, keyEnd, valueStart, valueEnd)
    at = spaceEnd(body, valueEnd)
    if (body[at] === CLOSE_BRACE) return at + 1
    if (body[at] !== COMMA) return -1
    at = spaceEnd(body, at + 1)
  }
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

/** The offset behind the value that begins at `at`, or -1 when there is none or it does not end. */
function jsonValueEnd(body: Buffer, at: number): number {
  const first = body[at]
  if (first === QUOTE) {
    const end = stringEnd(body, at + 1)
    return end < 0 ? -1 : end + 1
  }
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return nestedEnd(body, at)
  let end = at
  while (end < body.length && MEANING[body[end] ?? 0] === SCALAR) end++
  return end > at ? end : -1
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
