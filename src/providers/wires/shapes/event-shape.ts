import { isEscaped } from '../json-text.ts'
import type { Projection } from '../plans/json-projection.ts'

const LF = 0x0a
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const BACKSLASH = 0x5c

/** The part between two fixed texts of a shape. */
const TEXT = 0
const INTEGER = 1
const FRACTION = 2

/** Digits of a number: below every bound that counts have. */
const MAX_DIGITS = 12

/** Larger events, and those of more parts, are read each on its own. */
const MAX_EVENT_CHARACTERS = 8192
const MAX_VARYING = 32
const MAX_DEPTH = 24

/**
 * The texts that may stand around the document of an event: it is all of its data, in one line. Or of a line: nothing.
 */
const BEFORE_DATA = /^(?:event: ?[\w.-]+\r?\n)?data: ?$/
const BEHIND = /^ *(?:\r?\n){1,2}$/

/**
 * A shape is what an event of a stream has in common with the next ones: all of it but the texts that are not wanted,
 * and the numbers. Of an event that has this shape it is known, without it being read, that it has the same members and
 * says the same; only its counts may be others, and none of them is zero where the first event's is not.
 */
export class EventShape {
  /** Position of the document in the event, and how many characters follow it. */
  readonly documentStart: number
  readonly charactersBehind: number
  readonly #behind: string
  /** One more than there are varying parts. */
  readonly #fixed: readonly string[]
  readonly #varying: readonly number[]
  /** Its lines end in CRLF. Of another, no CR may stand where it is looked for. */
  readonly hasCr: boolean

  constructor(fixed: readonly string[], varying: readonly number[], documentStart: number, behind: string) {
    this.documentStart = documentStart
    this.charactersBehind = behind.length
    this.#behind = behind
    this.#fixed = fixed
    this.#varying = varying
    this.hasCr = behind.includes('\r')
  }

  /** End of the event of this shape that begins at `from`; -1: there is none, or not yet the whole. */
  match(text: string, from: number): number {
    const fixed = this.#fixed
    const varying = this.#varying
    let at = from
    for (let index = 0; index < varying.length; index += 1) {
      const part = fixed[index] ?? ''
      at = behind(part, text, at)
      if (at < 0) return -1
      at = varyingEnd(varying[index] ?? TEXT, text, at)
      if (at < 0) return -1
    }
    const end = behind(fixed[varying.length] ?? '', text, at)
    if (end < 0) return -1
    return this.#isOneLine(text, from + this.documentStart, end) ? end : -1
  }

  /** The shape that two events of this one share: nearly all that might vary does not, and is compared at once. */
  narrowed(one: string, other: string): EventShape {
    const fixed: string[] = []
    const varying: number[] = []
    let part = ''
    let at = 0
    let otherAt = 0
    for (const [index, kind] of this.#varying.entries()) {
      const text = this.#fixed[index] ?? ''
      const end = varyingEnd(kind, one, at + text.length)
      const otherEnd = varyingEnd(kind, other, otherAt + text.length)
      const content = one.slice(at + text.length, end)
      part += text
      if (content === other.slice(otherAt + text.length, otherEnd)) {
        part += content
      } else {
        fixed.push(part)
        varying.push(kind)
        part = ''
      }
      at = end
      otherAt = otherEnd
    }
    fixed.push(part + (this.#fixed.at(-1) ?? ''))
    return new EventShape(fixed.map(ownText), varying, this.documentStart, this.#behind)
  }

  /** A line that ends amid a text would make it another event. */
  #isOneLine(text: string, start: number, end: number): boolean {
    const lineEnd = end - this.charactersBehind
    return text.indexOf('\n', start) >= lineEnd && (!this.hasCr || text.indexOf('\r', start) >= lineEnd)
  }
}

/**
 * The shape of an event, `text` with a character for each of its bytes. `null`: it has none that later ones could be
 * compared with.
 * @param projection what is wanted of its document
 * @param isLine a line that is a document, no server-sent event
 */
export function shapeOf(text: string, projection: Projection, isLine: boolean): EventShape | null {
  const start = text.indexOf('{')
  if (start < 0 || text.length > MAX_EVENT_CHARACTERS || text.charCodeAt(text.length - 1) !== LF) return null
  const outline = new Outline(text)
  const end = outline.value(start, projection, 0)
  const isAlone = isLine ? start === 0 : BEFORE_DATA.test(text.slice(0, start))
  if (end < 0 || !isAlone || !BEHIND.test(text.slice(end))) return null
  return outline.shape(start, end)
}

/** Walks a document that is plain JSON and writes down which of its parts vary. */
class Outline {
  readonly #text: string
  readonly #fixed: string[] = []
  readonly #varying: number[] = []
  #fixedFrom = 0

  constructor(text: string) {
    this.#text = text
  }

  shape(documentStart: number, documentEnd: number): EventShape {
    // Not pieces of the event, which they would keep with them.
    const fixed = [...this.#fixed, this.#text.slice(this.#fixedFrom)].map(ownText)
    return new EventShape(fixed, this.#varying, documentStart, this.#text.slice(documentEnd))
  }

  /** End of the value that begins at `at`; -1: it is not plain. `wanted`: how much of it is; `null`: nothing. */
  value(at: number, wanted: Projection | null, depth: number): number {
    switch (this.#text[at]) {
      case '{':
        return depth > MAX_DEPTH ? -1 : this.#members(at + 1, wanted, depth + 1)
      case '[':
        return depth > MAX_DEPTH ? -1 : this.#elements(at + 1, wanted, depth + 1)
      case '"': {
        const end = textEnd(this.#text, at + 1)
        if (end >= 0 && wanted === null && !this.#vary(TEXT, at + 1, end)) return -1
        return end < 0 ? -1 : end + 1
      }
      default:
        return this.#scalar(at, wanted)
    }
  }

  #scalar(at: number, wanted: Projection | null): number {
    const rest = /^(?:null|true|false|-?[0-9.eE+-]+)(?=[\s,\]}])/.exec(this.#text.slice(at, at + 40))
    if (rest === null) return -1
    const end = at + rest[0].length
    if (wanted?.kind === 'length') return end
    const kind = [INTEGER, FRACTION].find((number) => varyingEnd(number, this.#text, at) === end)
    return kind !== undefined && !this.#vary(kind, at, end) ? -1 : end
  }

  #members(from: number, wanted: Projection | null, depth: number): number {
    let at = this.#space(from)
    if (this.#text[at] === '}') return at + 1
    for (;;) {
      if (this.#text[at] !== '"') return -1
      const keyEnd = textEnd(this.#text, at + 1)
      const key = this.#text.slice(at + 1, keyEnd)
      const colon = this.#space(keyEnd + 1)
      if (keyEnd < 0 || key.includes('\\') || this.#text[colon] !== ':') return -1
      at = this.value(this.#space(colon + 1), inside(wanted, key), depth)
      if (at < 0) return -1
      at = this.#space(at)
      if (this.#text[at] === '}') return at + 1
      if (this.#text[at] !== ',') return -1
      at = this.#space(at + 1)
    }
  }

  #elements(from: number, wanted: Projection | null, depth: number): number {
    let at = this.#space(from)
    if (this.#text[at] === ']') return at + 1
    for (;;) {
      at = this.value(at, inside(wanted, null), depth)
      if (at < 0) return -1
      at = this.#space(at)
      if (this.#text[at] === ']') return at + 1
      if (this.#text[at] !== ',') return -1
      at = this.#space(at + 1)
    }
  }

  /** False: there are too many. */
  #vary(kind: number, start: number, end: number): boolean {
    this.#fixed.push(this.#text.slice(this.#fixedFrom, start))
    this.#varying.push(kind)
    this.#fixedFrom = end
    return this.#varying.length <= MAX_VARYING
  }

  #space(from: number): number {
    let at = from
    while (this.#text[at] === ' ') at += 1
    return at
  }
}

/**
 * The part that is wanted of a member, or, where `key` is `null`, of an element. All that is in a kept value is wanted.
 */
function inside(wanted: Projection | null, key: string | null): Projection | null {
  if (wanted === null || wanted.kind === 'keep' || wanted.kind === 'length') return wanted
  if (wanted.kind === 'elements') return key === null ? wanted.element : null
  return (key === null ? undefined : wanted.members.find((member) => member.key === key))?.projection ?? null
}

/** End of `part`, which stands at `from`; -1: it does not. To compare strings costs the same for any length. */
function behind(part: string, text: string, from: number): number {
  const end = from + part.length
  return text.substring(from, end) === part ? end : -1
}

/** End of the part of an event that begins at `from` and may differ; -1: there is no such part. */
function varyingEnd(kind: number, text: string, from: number): number {
  if (kind === TEXT) return textEnd(text, from)
  return kind === INTEGER ? integerEnd(text, from) : fractionEnd(text, from)
}

/** Position of the quote that ends the text which begins at `from`; -1: it is not there. */
function textEnd(text: string, from: number): number {
  let quote = text.indexOf('"', from)
  while (quote > from && text.charCodeAt(quote - 1) === BACKSLASH && isEscaped(text, from, quote)) {
    quote = text.indexOf('"', quote + 1)
  }
  return quote
}

/** End of the count that begins at `from`, as any parser of counts takes it; -1: zero, or no such number. */
function integerEnd(text: string, from: number): number {
  const first = text.charCodeAt(from)
  if (!(first > ZERO && first <= NINE)) return -1
  const end = digitsEnd(text, from + 1)
  return end - from > MAX_DIGITS ? -1 : end
}

/** As {@link integerEnd}, of a number that is none: with digits behind its point that are not all zero. */
function fractionEnd(text: string, from: number): number {
  const point = text.charCodeAt(from) === ZERO ? from + 1 : integerEnd(text, from)
  if (point < 0 || text.charCodeAt(point) !== POINT) return -1
  const end = digitsEnd(text, point + 1)
  if (end - point > MAX_DIGITS) return -1
  for (let at = point + 1; at < end; at += 1) if (text.charCodeAt(at) !== ZERO) return end
  return -1
}

function digitsEnd(text: string, from: number): number {
  let at = from
  while (isDigit(text.charCodeAt(at))) at += 1
  return at
}

function isDigit(character: number): boolean {
  return character >= ZERO && character <= NINE
}

function ownText(part: string): string {
  return Buffer.from(part, 'latin1').toString('latin1')
}
