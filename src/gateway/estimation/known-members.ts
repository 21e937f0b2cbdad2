import { FOREIGN, MEANING, nestedEnd, SCALAR, spaceEnd, stringEnd } from '../../providers/wires/json-bytes.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** No request that is understood here nests deeper. */
const MAX_DEPTH = 32

/**
 * What may stand at a place of a JSON document. `any`: whatever it is. A set: one of these texts. A map: these members of
 * an object, and also text, numbers, and arrays of all that.
 */
export type Known = 'any' | ReadonlySet<string> | ReadonlyMap<string, Known>

/**
 * Whether `body` is one JSON object that has no other members than `known` has, at any depth. A member that stands there
 * twice is held to it twice, in whatever order; a name that is written with escapes is none of them. Linear in the bytes
 * of the body, as each is passed once.
 *
 * @param onMember gets the names of the object's own members, in order.
 */
export function holdsOnly(
  body: Buffer,
  known: ReadonlyMap<string, Known>,
  onMember: (name: string) => void,
): boolean {
  const start = spaceEnd(body, body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0)
  if (body[start] !== OPEN_BRACE) return false
  const end = objectEnd(body, start, known, 0, onMember)
  return end !== NOT_KNOWN && spaceEnd(body, end) === body.length
}

/** In place of the offset behind a value: it has what is not known, or is not JSON. */
const NOT_KNOWN = -1

function valueEnd(body: Buffer, start: number, known: Known, depth: number): number {
  const byte = body[start] ?? 0
  if (byte === QUOTE) return textEnd(body, start, known)
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
    if (known === 'any') return nestedEnd(body, start)
    if (depth >= MAX_DEPTH || known instanceof Set) return NOT_KNOWN
    if (byte === OPEN_BRACKET) return arrayEnd(body, start, known, depth + 1)
    return known instanceof Map ? objectEnd(body, start, known, depth + 1, null) : NOT_KNOWN
  }
  if ((MEANING[byte] ?? FOREIGN) !== SCALAR || known instanceof Set) return NOT_KNOWN
  let at = start + 1
  while (at < body.length && MEANING[body[at] ?? 0] === SCALAR) at += 1
  return at
}

function textEnd(body: Buffer, start: number, known: Known): number {
  const quote = stringEnd(body, start + 1)
  if (quote === -1) return NOT_KNOWN
  if (known instanceof Set && !known.has(nameAt(body, start + 1, quote))) return NOT_KNOWN
  return quote + 1
}

function arrayEnd(body: Buffer, start: number, known: Known, depth: number): number {
  let at = spaceEnd(body, start + 1)
  if (body[at] === CLOSE_BRACKET) return at + 1
  for (;;) {
    const end = valueEnd(body, at, known, depth)
    if (end === NOT_KNOWN) return NOT_KNOWN
    at = spaceEnd(body, end)
    if (body[at] === CLOSE_BRACKET) return at + 1
    if (body[at] !== COMMA) return NOT_KNOWN
    at = spaceEnd(body, at + 1)
  }
}

function objectEnd(
  body: Buffer,
  start: number,
  known: ReadonlyMap<string, Known>,
  depth: number,
  onMember: ((name: string) => void) | null,
): number {
  let at = spaceEnd(body, start + 1)
  if (body[at] === CLOSE_BRACE) return at + 1
  for (;;) {
    const quote = body[at] === QUOTE ? stringEnd(body, at + 1) : -1
    if (quote === -1) return NOT_KNOWN
    const name = nameAt(body, at + 1, quote)
    const wanted = known.get(name)
    const colon = spaceEnd(body, quote + 1)
    if (wanted === undefined || body[colon] !== COLON) return NOT_KNOWN
    onMember?.(name)
    const end = valueEnd(body, spaceEnd(body, colon + 1), wanted, depth)
    if (end === NOT_KNOWN) return NOT_KNOWN
    at = spaceEnd(body, end)
    if (body[at] === CLOSE_BRACE) return at + 1
    if (body[at] !== COMMA) return NOT_KNOWN
    at = spaceEnd(body, at + 1)
  }
}

/** Longer ones are not known. */
const MAX_NAME_BYTES = 64

/** As it is written; '' for one that has escapes or is too long, which is not a name. */
function nameAt(body: Buffer, start: number, end: number): string {
  if (end - start > MAX_NAME_BYTES || body.subarray(start, end).includes(BACKSLASH)) return ''
  return body.toString('latin1', start, end)
}
