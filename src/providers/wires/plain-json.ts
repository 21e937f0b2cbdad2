import { parsedJson } from '../../domain/json.ts'
import { StructureSearch } from './json-bytes.ts'
import { isEscaped } from './json-text.ts'
import {
  type Extracted,
  MAX_DOCUMENT_BYTES,
  MAX_ELEMENTS,
  type MembersProjection,
  type ProjectedMember,
  type Projection,
} from './plans/json-projection.ts'

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const DELETE = 0x7f
/** Turns `[` into `{` and `]` into `}`. */
const BRACKET_TO_BRACE = 0x20

/** Longer texts are decoded by the parser; checking every character pays for short ones, which most values are. */
const MAX_SHORT_TEXT = 64

/** So many bytes are looked at one by one before all kinds of structure are searched for. */
const MAX_STEPS = 64
/** The most that is read of a socket at once. A larger document is not doubled in memory. */
const MAX_PLAIN_BYTES = 81_920

/** A document that was read as a whole. */
export interface PlainJson {
  readonly extracted: Extracted
  /** How many wanted values were found that are not `null`. */
  readonly revision: number
}

/**
 * Reads a whole document that begins with an object and is plain JSON, in one go. It is walked as a string of its
 * bytes: V8 searches a string for a quote several times faster than JavaScript walks a buffer or calls into it.
 * Gives what the scanner would give. `null`: the document is none of these, or it takes the scanner's patience: it has
 * a key with escapes, a comma or a bracket is amiss, its end has not come.
 */
export function readPlainJson(bytes: Buffer, projection: Projection): PlainJson | null {
  if (projection.kind !== 'members' || bytes.length > MAX_PLAIN_BYTES || !endsInBrace(bytes)) return null
  const document = new PlainDocument(bytes)
  if (!document.read(projection)) return null
  // Without the text: a call keeps this until its end, and the collector would copy those of all under way.
  return { extracted: document.extracted, revision: document.revision }
}

/** One that was cut rarely does, so that no walk is begun in vain. */
function endsInBrace(bytes: Buffer): boolean {
  let at = bytes.length - 1
  while (at > 0 && isSpace(bytes[at] ?? 0)) at -= 1
  return bytes[at] === CLOSE_BRACE
}

class PlainDocument {
  revision = 0
  readonly #bytes: Buffer
  /** A character for each byte, so that places in one are places in the other. */
  readonly #text: string
  /** The first backslash that the walk has not passed; behind the text: there is none. */
  #escape = -1
  #structure: StructureSearch | null = null
  #raw: string | null = null
  #root: unknown
  /** The part that is kept of the value that was read last; `undefined`: nothing. */
  #kept: unknown
  #keptLength = 0
  /** The kept value is a short text, each character of it one byte of the document. */
  #isShort = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#text = bytes.toString('latin1')
  }

  get extracted(): Extracted {
    return { value: this.#root, raw: this.#raw }
  }

  /** Tells whether all of it could be read. */
  read(projection: MembersProjection): boolean {
    const start = spaceEnd(this.#text, 0)
    if (this.#text.charCodeAt(start) !== OPEN_BRACE || this.#readMembers(projection, start + 1) < 0) {
      return false
    }
    this.#root = this.#kept
    return true
  }

  /** As all below: takes where something begins, gives where it ended; -1: it is not plain. */
  #readMembers(projection: MembersProjection, from: number): number {
    const text = this.#text
    const members: Record<string, unknown> = {}
    if (projection.members.length === 0) this.revision += 1
    let at = spaceEnd(text, from)
    if (text.charCodeAt(at) !== CLOSE_BRACE) {
      for (;;) {
        if (text.charCodeAt(at) !== QUOTE) return -1
        const keyEnd = this.#stringEnd(at + 1)
        if (keyEnd < 0 || this.#escape < keyEnd) return -1
        const wanted = memberNamed(projection, text, at + 1, keyEnd)
        at = spaceEnd(text, keyEnd + 1)
        if (text.charCodeAt(at) !== COLON) return -1
        at = spaceEnd(text, at + 1)
        if (wanted === null) {
          at = this.#valueEnd(at)
          if (at < 0) return -1
        } else {
          at = this.#readMember(wanted, at)
          if (at < 0) return -1
          if (this.#kept !== undefined) members[wanted.key] = this.#kept
        }
        at = spaceEnd(text, at)
        const byte = text.charCodeAt(at)
        if (byte === CLOSE_BRACE) break
        if (byte !== COMMA) return -1
        at = spaceEnd(text, at + 1)
      }
    }
    this.#kept = members
    return at + 1
  }

  /** Most members say what they said in the document before: the model, the kind of object, how it ended. */
  #readMember(wanted: ProjectedMember, at: number): number {
    const { projection, latest } = wanted
    if (projection.kind !== 'keep' || projection.isUsage) return this.#readValue(projection, at)
    const text = this.#text
    const end = at + latest.text.length + 2
    if (
      text.charCodeAt(at) === QUOTE &&
      text.charCodeAt(end - 1) === QUOTE &&
      text.substring(at + 1, end - 1) === latest.text &&
      end - at <= MAX_DOCUMENT_BYTES - this.#keptLength
    ) {
      this.#keptLength += end - at
      this.revision += 1
      this.#kept = latest.text
      return end
    }
    const read = this.#readValue(projection, at)
    if (typeof this.#kept === 'string' && this.#isShort) latest.text = this.#kept
    return read
  }

  #readElements(element: Projection, from: number): number {
    const text = this.#text
    const elements: unknown[] = []
    let at = spaceEnd(text, from)
    if (text.charCodeAt(at) !== CLOSE_BRACKET) {
      for (;;) {
        const isFull = elements.length >= MAX_ELEMENTS
        at = isFull ? this.#valueEnd(at) : this.#readValue(element, at)
        if (at < 0) return -1
        if (!isFull && this.#kept !== undefined) elements.push(this.#kept)
        at = spaceEnd(text, at)
        const byte = text.charCodeAt(at)
        if (byte === CLOSE_BRACKET) break
        if (byte !== COMMA) return -1
        at = spaceEnd(text, at + 1)
      }
    }
    this.#kept = elements
    return at + 1
  }

  #readValue(projection: Projection, at: number): number {
    const byte = this.#text.charCodeAt(at)
    if (byte === OPEN_BRACE && projection.kind === 'members') return this.#readMembers(projection, at + 1)
    if (byte === OPEN_BRACKET && projection.kind === 'elements') {
      return this.#readElements(projection.element, at + 1)
    }
    const end = this.#valueEnd(at)
    this.#kept = undefined
    this.#isShort = false
    if (end < 0) return -1
    if (projection.kind === 'keep') {
      this.#kept = this.#take(at, end, projection.maxBytes, projection.isUsage)
      if (this.#kept !== undefined && this.#kept !== null) this.revision += 1
    } else if (projection.kind === 'length') {
      this.#kept = end - at
      this.revision += 1
    }
    return end
  }

  /** The value from `at` to `end`. Nothing of it is a piece of the document's text, which would be kept with it. */
  #take(at: number, end: number, maxBytes: number, isUsage: boolean): unknown {
    const text = this.#text
    const length = end - at
    if (length > maxBytes || length > MAX_DOCUMENT_BYTES - this.#keptLength) return true
    if (length === 4 && text.startsWith('null', at)) {
      this.#keptLength += length
      return null
    }
    if (!isUsage && text.charCodeAt(at) === QUOTE && isShortText(text, at + 1, end - 1)) {
      this.#keptLength += length
      this.#isShort = true
      return this.#bytes.toString('latin1', at + 1, end - 1)
    }
    const written = this.#bytes.toString('utf8', at, end)
    this.#keptLength += written.length
    const value = parsedJson(written)
    if (isUsage && value !== undefined && value !== null) this.#raw = written
    return value
  }

  /** The inside of objects and arrays is held to balance only. */
  #valueEnd(at: number): number {
    const byte = this.#text.charCodeAt(at)
    if (byte === QUOTE) {
      const quote = this.#stringEnd(at + 1)
      return quote < 0 ? -1 : quote + 1
    }
    return byte === OPEN_BRACE || byte === OPEN_BRACKET ? this.#containerEnd(at) : scalarEnd(this.#text, at)
  }

  #containerEnd(from: number): number {
    const bytes = this.#bytes
    let depth = 0
    let at = from
    while (at < bytes.length) {
      const near = Math.min(bytes.length, at + MAX_STEPS)
      while (at < near && !isStructure(bytes[at] ?? 0)) at += 1
      if (at === near) {
        this.#structure ??= new StructureSearch(bytes)
        at = this.#structure.nearest(at)
        if (at >= bytes.length) return -1
      }
      const byte = bytes[at] ?? 0
      at += 1
      if (byte === QUOTE) {
        at = this.#stringEnd(at) + 1
        if (at === 0) return -1
      } else if ((byte | BRACKET_TO_BRACE) === OPEN_BRACE) {
        depth += 1
      } else {
        depth -= 1
        if (depth === 0) return at
      }
    }
    return -1
  }

  /** Position of the quote that ends the string whose first character is at `from`. */
  #stringEnd(from: number): number {
    const text = this.#text
    if (this.#escape < from) {
      const next = text.indexOf('\\', from)
      this.#escape = next < 0 ? text.length : next
    }
    let quote = text.indexOf('"', from)
    if (this.#escape > quote) return quote
    while (quote >= 0 && isEscaped(text, from, quote)) quote = text.indexOf('"', quote + 1)
    return quote
  }
}

function isStructure(byte: number): boolean {
  const brace = byte | BRACKET_TO_BRACE
  return byte === QUOTE || brace === OPEN_BRACE || brace === CLOSE_BRACE
}

/** The wanted member whose key stands in `text` from `from` to `to`. Names of members are ASCII. */
function memberNamed(
  { byLength }: MembersProjection,
  text: string,
  from: number,
  to: number,
): ProjectedMember | null {
  const candidates = byLength[to - from]
  if (candidates === undefined || candidates.length === 0) return null
  const key = text.substring(from, to)
  for (let index = 0; index < candidates.length; index += 1) {
    const member = candidates[index]
    if (member !== undefined && member.key === key) return member
  }
  return null
}

function scalarEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const byte = text.charCodeAt(at)
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isSpace(byte)) {
      return at > from ? at : -1
    }
  }
  return -1
}

function spaceEnd(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at += 1
  return at
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === TAB
}

/** Tells whether a string is short and its characters stand for themselves, one byte each. */
function isShortText(text: string, from: number, to: number): boolean {
  if (to - from > MAX_SHORT_TEXT) return false
  for (let at = from; at < to; at += 1) {
    const byte = text.charCodeAt(at)
    if (byte < SPACE || byte >= DELETE || byte === BACKSLASH) return false
  }
  return true
}
