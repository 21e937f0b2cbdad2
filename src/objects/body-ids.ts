import { type Search, searchFor } from './body-id-fields.ts'

// Ids that a JSON request body names, found by a search for the members that hold them: bodies are large, and not parsed.
import type { ObjectPath } from './object-path.ts'

/** What was found. `unreadable`: the body hides what it names, or names more than anybody needs. */
export type BodyIds = readonly string[] | 'unreadable'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const OPEN_BRACE = 0x7b
const COMMA = 0x2c
const ID_KEY = Buffer.from('"id"')

/** Ids of one body; a retrieval over hundreds of files names them by their store. */
const MAX_IDS = 256
/** What is short or has spaces is none; `auto` and its like stand where ids may. */
const MAY_BE_ID = /^[\w.:/~%@+=-]{5,}$/
/** Longer values are not ids. */
const MAX_VALUE_BYTES = 1_024
/** Bodies up to this are parsed where a member's name is written in escapes. */
const MAX_PARSED_BYTES = 1024 * 1024
/** Searched at once; of a longer one as many such slices as fit into a turn, so that others have theirs. */
const SLICE_BYTES = 32 * 1024
const WHOLE_BYTES = 2 * SLICE_BYTES
const TURN_MS = 3
/** No name that is looked for is longer, its quotes with it. */
const MAX_NAME_BYTES = 64
/** Escapes looked at; texts may hold many that mean no letter. */
const MAX_ESCAPES = 10_000

/** The ids that `body` names. At once for nearly every body; in turns with all else for very long ones. */
export function idsInBody(path: ObjectPath, body: Buffer): BodyIds | Promise<BodyIds> {
  const search = searchFor(path)
  if (search.needles.length === 0) return []
  if (body.length > WHOLE_BYTES) return inTurns(search, body)
  const hides = hidesNames(body, 0, body.length)
  if (hides !== false) return hides === true ? parsedIds(search, body) : 'unreadable'
  const ids = new Set<string>()
  return collect(search, body, 0, body.length, ids) ? [...ids] : 'unreadable'
}

async function inTurns(search: Search, body: Buffer): Promise<BodyIds> {
  const ids = new Set<string>()
  let turnEndsAt = performance.now() + TURN_MS
  for (let from = 0; from < body.length; from += SLICE_BYTES) {
    // A name may begin in one slice and end in the next.
    const to = Math.min(body.length, from + SLICE_BYTES + MAX_NAME_BYTES)
    if (hidesNames(body, from, to) !== false) return 'unreadable'
    if (!collect(search, body, from, to, ids)) return 'unreadable'
    if (performance.now() < turnEndsAt) continue
    await new Promise(setImmediate)
    turnEndsAt = performance.now() + TURN_MS
  }
  return [...ids]
}

/** Adds what the members between `from` and `to` name; `false`: too many. */
function collect(
  { names, needles }: Search,
  body: Buffer,
  from: number,
  to: number,
  ids: Set<string>,
): boolean {
  const part = body.subarray(from, to)
  for (const needle of needles) {
    for (let at = part.indexOf(needle); at !== -1; at = part.indexOf(needle, at + needle.length)) {
      const open = quoteBefore(body, from + at)
      const close = quoteFrom(body, from + at + (needle[0] === QUOTE ? 1 : 0))
      if (open === -1 || close === -1) continue
      if (!names.has(body.toString('latin1', open + 1, close))) continue
      const colon = spaceEnd(body, close + 1)
      if (body[colon] === COLON) addValues(body, spaceEnd(body, colon + 1), ids)
      if (ids.size > MAX_IDS) return false
    }
  }
  return true
}

/** The nearest quote at or before `at`; -1: none where a name could begin. Long texts without one are not searched through. */
function quoteBefore(body: Buffer, at: number): number {
  const last = Math.max(0, at - MAX_NAME_BYTES)
  for (let place = at; place >= last; place -= 1) if (body[place] === QUOTE) return place
  return -1
}

/** The nearest quote from `at` on; -1: none where a name could end. */
function quoteFrom(body: Buffer, at: number): number {
  const last = Math.min(body.length - 1, at + MAX_NAME_BYTES)
  for (let place = at; place <= last; place += 1) if (body[place] === QUOTE) return place
  return -1
}

/** The text at `start`, the texts of the array there, or the `id` of the object. */
function addValues(body: Buffer, start: number, ids: Set<string>): void {
  if (body[start] === QUOTE) {
    addText(body, start, ids)
  } else if (body[start] === OPEN_BRACKET) {
    let at = spaceEnd(body, start + 1)
    while (body[at] === QUOTE && ids.size <= MAX_IDS) {
      at = spaceEnd(body, addText(body, at, ids) + 1)
      if (body[at] === COMMA) at = spaceEnd(body, at + 1)
    }
  } else if (body[start] === OPEN_BRACE) {
    const near = body.subarray(start, start + MAX_VALUE_BYTES).indexOf(ID_KEY)
    if (near === -1) return
    const key = start + near
    const colon = spaceEnd(body, key + ID_KEY.length)
    if (body[colon] === COLON) addValues(body, spaceEnd(body, colon + 1), ids)
  }
}

/** Adds the string whose quote stands at `start`; gives the offset of its closing quote. */
function addText(body: Buffer, start: number, ids: Set<string>): number {
  let end = start + 1
  const limit = Math.min(body.length, start + MAX_VALUE_BYTES)
  while (end < limit && body[end] !== QUOTE) end += body[end] === BACKSLASH ? 2 : 1
  if (body[end] !== QUOTE) return end
  const text = body.toString('utf8', start + 1, end)
  const value = text.includes('\\') ? unescaped(text) : text
  if (MAY_BE_ID.test(value)) ids.add(value)
  return end
}

function unescaped(text: string): string {
  try {
    const value: unknown = JSON.parse(`"${text}"`)
    return typeof value === 'string' ? value : ''
  } catch {
    return ''
  }
}

function spaceEnd(body: Buffer, at: number): number {
  let end = at
  while (body[end] === 0x20 || body[end] === 0x0a || body[end] === 0x0d || body[end] === 0x09) end += 1
  return end
}

const ESCAPE = Buffer.from('\\u00')

/**
 * Whether a letter or `_` is written as an escape, which no program does but one that hides a name; `many`: more
 * escapes than are looked at.
 */
function hidesNames(body: Buffer, from: number, to: number): boolean | 'many' {
  const part = body.subarray(from, to)
  let seen = 0
  for (let at = part.indexOf(ESCAPE); at !== -1; at = part.indexOf(ESCAPE, at + ESCAPE.length)) {
    const code = Number.parseInt(part.toString('latin1', at + 4, at + 6), 16)
    const isLetter = (code >= 0x41 && code <= 0x5a) || code === 0x5f || (code >= 0x61 && code <= 0x7a)
    if (isLetter && isEscape(part, at)) return true
    seen += 1
    if (seen > MAX_ESCAPES && isLetter) return 'many'
  }
  return false
}

/** A backslash that is not itself escaped. */
function isEscape(bytes: Buffer, at: number): boolean {
  let before = at
  while (before > 0 && bytes[before - 1] === BACKSLASH) before -= 1
  return (at - before) % 2 === 0
}

function parsedIds({ names }: Search, body: Buffer): BodyIds {
  if (body.length > MAX_PARSED_BYTES) return 'unreadable'
  const ids = new Set<string>()
  try {
    JSON.parse(body.toString('utf8'), (key, value: unknown) => {
      if (!names.has(key)) return value
      for (const text of textsIn(value)) ids.add(text)
      return value
    })
  } catch {
    // Not JSON: a server that reads it reads no members.
    return []
  }
  return ids.size > MAX_IDS ? 'unreadable' : [...ids]
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return MAY_BE_ID.test(value) ? [value] : []
  if (Array.isArray(value)) return value.flatMap((element) => (typeof element === 'string' ? [element] : []))
  return typeof value === 'object' && value !== null && 'id' in value ? textsIn(value.id) : []
}
