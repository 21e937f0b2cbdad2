import { asBuffer } from './elements.ts'

/**
 * What to keep of a JSON document, by path: `'value'` keeps the value found there, `'usage'` keeps it and its
 * text, an object goes into the named members, a one-element array into every element. `{}` keeps an object as
 * an empty one: that it was there.
 */
export type Wanted = 'value' | 'usage' | { readonly [key: string]: Wanted } | readonly [Wanted]

/** A {@link Wanted} made ready for scanning. Make it once, not per document. */
export type JsonPlan =
  | { readonly kind: 'keep'; readonly isUsage: boolean }
  | { readonly kind: 'members'; readonly members: ReadonlyMap<string, JsonPlan>; readonly longestKey: number }
  | { readonly kind: 'elements'; readonly element: JsonPlan }

/** What a scan has kept: the document with everything unwanted left out. */
export interface Kept {
  /** `undefined` when nothing was found. A value too long to keep is `true` in its place. */
  readonly value: unknown
  /** Text of the last `'usage'` value that was not `null`, as the upstream wrote it. */
  readonly raw: string | null
}

/** Longest text kept of one value, in bytes: model names, error objects. */
const MAX_VALUE_BYTES = 4096
/** Longest usage object kept, in bytes; the longest seen have some 70 entries of 250 bytes. */
const MAX_USAGE_BYTES = 65_536
/** All values but usage of one document together, so that a hostile document cannot fill memory. */
const MAX_DOCUMENT_BYTES = 65_536
const MAX_ELEMENTS = 4096
/** Pieces of one captured value before they are joined: a buffer object outweighs a byte by far. */
const MAX_PIECES = 64
/** Up to here a string's end is sought byte by byte; beyond, a native search is cheaper. */
const SHORT_STRING = 48

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

const VALUE = 0
const STRING = 1
const SKIP = 2
const SKIP_STRING = 3
const SCALAR = 4
const AFTER = 5
const KEY = 6
const KEY_STRING = 7
const AFTER_KEY = 8
const DONE = 9

/** One object or array on the way to wanted values. */
interface Frame {
  readonly members: Record<string, unknown> | null
  readonly elements: unknown[] | null
  readonly plan: JsonPlan
  key: string
}

export function planJson(wanted: Wanted): JsonPlan {
  if (wanted === 'value' || wanted === 'usage') return { kind: 'keep', isUsage: wanted === 'usage' }
  if (isElements(wanted)) return { kind: 'elements', element: planJson(wanted[0]) }
  const members = new Map(Object.entries(wanted).map(([key, inner]) => [key, planJson(inner)]))
  return {
    kind: 'members',
    members,
    longestKey: Math.max(0, ...[...members.keys()].map((key) => key.length)),
  }
}

function isElements(wanted: Wanted): wanted is readonly [Wanted] {
  return Array.isArray(wanted)
}

/** Scans one whole document. */
export function scanJson(bytes: Uint8Array, plan: JsonPlan): Kept {
  const scanner = new JsonScanner(plan)
  scanner.push(bytes)
  scanner.end()
  return scanner.kept
}

/**
 * A tokenizer that reads one JSON document as it passes, in any pieces, and keeps only wanted values. Strings
 * are skipped without decoding, so that megabytes of base64 cost a native search; keys are compared decoded,
 * so that only a value at its right path counts and no text that looks like one. Malformed input never throws:
 * what was well formed before it is kept. After the document's end everything is ignored.
 */
export class JsonScanner {
  /** Goes up with every wanted value found that is not `null`. */
  revision = 0
  #raw: string | null = null
  #root: unknown
  #state = VALUE
  /** Plan of the value that comes next; `null`: not wanted. */
  #plan: JsonPlan | null
  #depth = 0
  /** The last byte of the previous chunk was a backslash that escapes the next byte. */
  #escaped = false
  #capturing = false
  #tooLong = false
  #captured: Buffer[] = []
  #capturedBytes = 0
  #documentBytes = 0
  readonly #frames: Frame[] = []

  constructor(plan: JsonPlan) {
    this.#plan = plan
  }

  get kept(): Kept {
    return { value: this.#root, raw: this.#raw }
  }

  /** Whether the document has ended. */
  get done(): boolean {
    return this.#state === DONE
  }

  push(chunk: Uint8Array): void {
    const bytes = asBuffer(chunk)
    const length = bytes.length
    let at = 0
    // Where in this chunk the captured text goes on.
    let from = 0
    while (at < length) {
      switch (this.#state) {
        case VALUE: {
          const byte = bytes[at] ?? 0
          if (isSpace(byte) || byte === COMMA || this.#isByteOrderMark(byte)) {
            at += 1
          } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
            at += 1
            this.#close()
          } else if (byte === OPEN_BRACE && this.#plan?.kind === 'members') {
            at += 1
            this.#open({ members: {}, elements: null, plan: this.#plan, key: '' })
          } else if (byte === OPEN_BRACKET && this.#plan?.kind === 'elements') {
            at += 1
            this.#open({ members: null, elements: [], plan: this.#plan, key: '' })
          } else {
            this.#capturing = this.#plan?.kind === 'keep'
            from = at
            if (byte === QUOTE) this.#state = STRING
            else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#state = SKIP
            else this.#state = SCALAR
            this.#depth = 1
            if (this.#state !== SCALAR) at += 1
          }
          break
        }
        case STRING: {
          const end = this.#endOfString(bytes, at)
          if (end === -1) {
            at = length
          } else {
            at = end + 1
            this.#finish(bytes, from, at)
          }
          break
        }
        case SKIP: {
          at = this.#skip(bytes, at)
          if (this.#depth === 0) this.#finish(bytes, from, at)
          break
        }
        case SKIP_STRING: {
          const end = this.#endOfString(bytes, at)
          at = end === -1 ? length : end + 1
          if (end !== -1) this.#state = SKIP
          break
        }
        case SCALAR: {
          while (at < length && !isDelimiter(bytes[at] ?? 0)) at += 1
          if (at < length) this.#finish(bytes, from, at)
          break
        }
        case AFTER: {
          const byte = bytes[at] ?? 0
          at += 1
          if (byte === COMMA) this.#next()
          else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#close()
          break
        }
        case KEY: {
          const byte = bytes[at] ?? 0
          at += 1
          if (byte === QUOTE) {
            this.#capturing = true
            from = at
            this.#state = KEY_STRING
          } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
            this.#close()
          }
          break
        }
        case KEY_STRING: {
          const end = this.#endOfString(bytes, at)
          if (end === -1) {
            at = length
          } else {
            at = end + 1
            this.#takeKey(bytes, from, end)
          }
          break
        }
        case AFTER_KEY: {
          if (bytes[at] === COLON) this.#state = VALUE
          at += 1
          break
        }
        default:
          return
      }
    }
    if (this.#capturing) this.#capture(bytes, from, length)
  }

  /** The input has ended: a bare number or word at its very end is a value now. */
  end(): void {
    if (this.#state === SCALAR && this.#frames.length === 0) this.#finish(Buffer.alloc(0), 0, 0)
  }

  #isByteOrderMark(byte: number): boolean {
    return this.#frames.length === 0 && (byte === 0xef || byte === 0xbb || byte === 0xbf)
  }

  #open(frame: Frame): void {
    this.#keep(frame.members ?? frame.elements)
    this.#frames.push(frame)
    if (frame.plan.kind === 'members' && frame.plan.members.size === 0) this.revision += 1
    this.#next()
  }

  #close(): void {
    this.#frames.pop()
    this.#state = this.#frames.length === 0 ? DONE : AFTER
  }

  /** Before the next member or element of the innermost frame. */
  #next(): void {
    const frame = this.#frames.at(-1)
    if (frame?.plan.kind === 'elements') {
      this.#plan = frame.plan.element
      this.#state = VALUE
    } else {
      this.#state = KEY
    }
  }

  /** Index of the quote that ends the string which goes on at `start`, or -1 when it is not in this chunk. */
  #endOfString(bytes: Buffer, start: number): number {
    const length = bytes.length
    let at = start
    if (this.#escaped) {
      this.#escaped = false
      at += 1
    }
    for (;;) {
      const near = Math.min(length, at + SHORT_STRING)
      while (at < near) {
        const byte = bytes[at]
        if (byte === QUOTE) return at
        at += byte === BACKSLASH ? 2 : 1
      }
      if (at >= length) {
        this.#escaped = at > length
        return -1
      }
      const quote = bytes.indexOf(QUOTE, at)
      const end = quote === -1 ? length : quote
      let before = end
      while (before > at && bytes[before - 1] === BACKSLASH) before -= 1
      const isEscaped = (end - before) % 2 === 1
      if (quote === -1) {
        this.#escaped = isEscaped
        return -1
      }
      if (!isEscaped) return quote
      at = quote + 1
    }
  }

  /** Walks on in an unwanted or captured container; stops after its end, or at a string inside it. */
  #skip(bytes: Buffer, start: number): number {
    const length = bytes.length
    let depth = this.#depth
    let at = start
    while (at < length) {
      const byte = bytes[at]
      at += 1
      if (byte === QUOTE) {
        this.#state = SKIP_STRING
        break
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth += 1
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth -= 1
        if (depth === 0) break
      }
    }
    this.#depth = depth
    return at
  }

  #takeKey(bytes: Buffer, from: number, to: number): void {
    const frame = this.#frames.at(-1)
    const text = this.#takeCaptured(bytes, from, to)
    this.#plan = null
    this.#state = AFTER_KEY
    if (frame?.plan.kind !== 'members' || text === null) return
    const key = text.includes('\\') ? parsed(`"${text}"`) : text
    if (typeof key !== 'string') return
    frame.key = key
    this.#plan = frame.plan.members.get(key) ?? null
  }

  /** A value that is not a frame has ended. */
  #finish(bytes: Buffer, from: number, to: number): void {
    const isUsage = this.#plan?.kind === 'keep' && this.#plan.isUsage
    if (this.#capturing) {
      const text = this.#takeCaptured(bytes, from, to)
      const value = text === null ? true : parsed(text)
      if (value !== undefined) this.#keep(value)
      if (isUsage && text !== null && value !== undefined && value !== null) this.#raw = text
    }
    this.#state = this.#frames.length === 0 ? DONE : AFTER
  }

  #keep(value: unknown): void {
    const frame = this.#frames.at(-1)
    if (frame === undefined) this.#root = value
    else if (frame.members !== null) frame.members[frame.key] = value
    else if (frame.elements !== null && frame.elements.length < MAX_ELEMENTS) frame.elements.push(value)
    if (value !== null && typeof value !== 'object') this.revision += 1
    else if (value !== null && this.#plan?.kind === 'keep') this.revision += 1
  }

  #capture(bytes: Buffer, from: number, to: number): void {
    if (this.#tooLong || to <= from) return
    this.#capturedBytes += to - from
    if (this.#capturedBytes > this.#captureLimit()) {
      this.#tooLong = true
      this.#captured = []
      return
    }
    // Borrowed bytes: what outlives this chunk is copied.
    this.#captured.push(Buffer.from(bytes.subarray(from, to)))
    if (this.#captured.length === MAX_PIECES) this.#captured = [Buffer.concat(this.#captured)]
  }

  #captureLimit(): number {
    if (this.#state === KEY_STRING) {
      const plan = this.#frames.at(-1)?.plan
      // A character takes up to six bytes when it is written as an escape.
      return plan?.kind === 'members' ? plan.longestKey * 6 : 0
    }
    return this.#plan?.kind === 'keep' && this.#plan.isUsage ? MAX_USAGE_BYTES : MAX_VALUE_BYTES
  }

  /** The captured text with the last piece added; `null` when it was too long to keep. */
  #takeCaptured(bytes: Buffer, from: number, to: number): string | null {
    const limit = this.#captureLimit()
    const size = this.#capturedBytes + (to - from)
    const isUsage = this.#plan?.kind === 'keep' && this.#plan.isUsage
    let text: string | null = null
    if (!this.#tooLong && size <= limit) {
      text =
        this.#captured.length === 0
          ? bytes.toString('utf8', from, to)
          : Buffer.concat([...this.#captured, bytes.subarray(from, to)]).toString()
    }
    if (this.#state !== KEY_STRING && !isUsage) {
      this.#documentBytes += size
      if (this.#documentBytes > MAX_DOCUMENT_BYTES) text = null
    }
    this.#capturing = false
    this.#tooLong = false
    this.#captured = []
    this.#capturedBytes = 0
    return text
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isSpace(byte)
}
