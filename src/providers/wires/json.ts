import { parsedJson } from '../../domain/json.ts'
import { asBuffer } from './elements.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  MEANING,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SCALAR as SCALAR_BYTE,
  StructureSearch,
} from './json-bytes.ts'
import { isDelimiter, isSpace, StringEnd, TextCapture } from './json-text.ts'
import {
  MAX_TEXT_BYTES,
  MAX_WALKED_DEPTH,
  type OnText,
  type PathWalk,
  placeOfKey,
} from './plans/json-paths.ts'
import {
  type Extracted,
  MAX_DOCUMENT_BYTES,
  MAX_ELEMENTS,
  memberOfKey,
  namesInOtherLetters,
  type Projection,
  type ScanFrame,
} from './plans/json-projection.ts'

export {
  compileProjection,
  type Extracted,
  type Projection,
  type ProjectionSpec,
} from './plans/json-projection.ts'

/** An object in an array whose elements are passed on, and the text of the usage in it. */
export type OnElement = (element: Extracted) => void

/** A character of a key takes up to six bytes when it is written as an escape. */
const ESCAPE_BYTES = 6

/** So many bytes are looked at one by one before all kinds of structure are searched for. */
const MAX_STEPS = 64

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

/**
 * A tokenizer that reads one JSON document as it passes, in any pieces, and keeps only wanted values. Strings
 * are skipped without decoding, so that megabytes of base64 cost a native search; keys are compared as a parser
 * would see them, so that only a value at its right path counts and no text that looks like one. Malformed input
 * never throws: what was well formed before it is kept.
 */
export class JsonScanner {
  /** Goes up with every wanted value found that is not `null`. */
  revision = 0
  /** A walk has this state where what passed so far is not JSON, or is nested too deeply. */
  isMalformed = false
  #raw: string | null = null
  #root: unknown
  #state = VALUE
  /** Plan of the value that comes next; `null`: not wanted. */
  #projection: Projection | PathWalk | null
  /** Depth inside a container that is passed over as a whole. */
  #depth = 0
  #capturing = false
  #documentBytes = 0
  readonly #frames: ScanFrame[] = []
  readonly #stringEnd = new StringEnd()
  readonly #capture = new TextCapture()
  readonly #isStrict: boolean
  #isAmbiguous = false
  /** Bytes of the chunks before this one. */
  #passedBytes = 0
  /** Position where a value began whose length is wanted; -1: none. */
  #lengthFrom = -1
  /** The search over this chunk, once it was needed. */
  #structure: StructureSearch | null = null
  readonly #onText: OnText | null
  readonly #onElement: OnElement | null

  /**
   * @param isStrict notices keys that servers read differently: those that stand there twice, or in other letters.
   * @param onText gets the texts of a `PathWalk`, all of a member that stands there twice.
   * @param onElement gets what is passed on.
   */
  constructor(
    projection: Projection | PathWalk,
    isStrict = false,
    onText: OnText | null = null,
    onElement: OnElement | null = null,
  ) {
    this.#projection = projection
    this.#isStrict = isStrict
    this.#onText = onText
    this.#onElement = onElement
  }

  /** A strict scan met a wanted key twice in one object, or in other letters: what it means depends on who reads it. */
  get isAmbiguous(): boolean {
    return this.#isAmbiguous
  }

  get extracted(): Extracted {
    return { value: this.#root, raw: this.#raw }
  }

  /** Tells whether the document has ended. */
  get done(): boolean {
    return this.#state === DONE
  }

  /** @returns How much was read: less than all where something follows the document's end. */
  push(chunk: Uint8Array): number {
    const bytes = asBuffer(chunk)
    const length = bytes.length
    let at = 0
    // Position in this chunk where the captured text goes on.
    let from = 0
    while (at < length) {
      switch (this.#state) {
        case VALUE: {
          from = at
          at = this.#beginValue(bytes[at] ?? 0, at)
          break
        }
        case STRING: {
          const end = this.#stringEnd.find(bytes, at)
          at = end === -1 ? length : end + 1
          if (end !== -1) this.#finish(bytes, from, at)
          break
        }
        case SKIP: {
          at = this.#skip(bytes, at)
          if (this.#depth === 0) this.#finish(bytes, from, at)
          break
        }
        case SKIP_STRING: {
          const end = this.#stringEnd.find(bytes, at)
          at = end === -1 ? length : end + 1
          if (end !== -1) this.#state = SKIP
          break
        }
        case SCALAR: {
          for (; at < length && !isDelimiter(bytes[at] ?? 0); at += 1) {
            if (MEANING[bytes[at] ?? 0] !== SCALAR_BYTE) this.#doubt()
          }
          if (at < length) this.#finish(bytes, from, at)
          break
        }
        case AFTER: {
          const byte = bytes[at] ?? 0
          at += 1
          if (byte === COMMA) this.#next()
          else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#close(byte)
          else if (!isSpace(byte)) this.#doubt()
          break
        }
        case KEY: {
          const byte = bytes[at] ?? 0
          at += 1
          from = at
          if (byte === QUOTE) this.#beginKey()
          else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#close(byte)
          else if (!isSpace(byte)) this.#doubt()
          break
        }
        case KEY_STRING: {
          const end = this.#stringEnd.find(bytes, at)
          at = end === -1 ? length : end + 1
          if (end !== -1) this.#takeKey(bytes, from, end)
          break
        }
        case AFTER_KEY: {
          if (bytes[at] === COLON) this.#state = VALUE
          else if (!isSpace(bytes[at] ?? 0)) this.#doubt()
          at += 1
          break
        }
        default:
          while (at < length && isSpace(bytes[at] ?? 0)) at += 1
          if (at < length) this.#doubt()
          this.#structure = null
          return at
      }
    }
    if (this.#capturing) this.#capture.add(bytes, from, length)
    this.#passedBytes += length
    this.#structure = null
    return length
  }

  /** The input has ended: a bare number or word at its very end is a value now. */
  end(): void {
    if (this.#state === SCALAR && this.#frames.length === 0) this.#finish(Buffer.alloc(0), 0, 0)
  }

  /** Looks at a byte where a value may begin; gives where to go on. */
  #beginValue(byte: number, at: number): number {
    const projection = this.#projection
    const isWalked = projection?.kind === 'walk'
    if (isSpace(byte) || byte === COMMA || this.#isByteOrderMark(byte)) return at + 1
    if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      this.#close(byte)
      return at + 1
    }
    if (byte === OPEN_BRACE && (isWalked || projection?.kind === 'members')) {
      this.#open({ members: {}, elements: null, projection, key: '' })
      return at + 1
    }
    if (byte === OPEN_BRACKET && (isWalked || projection?.kind === 'elements')) {
      this.#open({ members: null, elements: [], projection, key: '' })
      return at + 1
    }
    if (isWalked) {
      this.#capturing = byte === QUOTE && projection.tags.length > 0
      if (this.#capturing) this.#capture.begin(MAX_TEXT_BYTES)
    } else if (projection?.kind === 'keep') {
      this.#capturing = true
      const left = MAX_DOCUMENT_BYTES - this.#documentBytes
      this.#capture.begin(Math.min(left, projection.maxBytes))
    } else if (projection?.kind === 'length') {
      this.#lengthFrom = this.#passedBytes + at
    }
    this.#depth = 1
    if (byte === QUOTE) this.#state = STRING
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#state = SKIP
    else {
      this.#state = SCALAR
      return at
    }
    return at + 1
  }

  /** Servers that are lenient would read what follows in different ways. */
  #doubt(): void {
    if (this.#onText !== null) this.isMalformed = true
  }

  #isByteOrderMark(byte: number): boolean {
    return this.#frames.length === 0 && (byte === 0xef || byte === 0xbb || byte === 0xbf)
  }

  #open(frame: ScanFrame): void {
    if (frame.projection.kind !== 'walk') this.#keep(frame.members ?? frame.elements)
    else if (this.#frames.length === MAX_WALKED_DEPTH) this.#doubt()
    this.#frames.push(frame)
    if (frame.projection.kind === 'members' && frame.projection.members.length === 0) this.revision += 1
    this.#next()
  }

  #close(byte: number): void {
    const frame = this.#frames.pop()
    if ((frame?.members !== null) !== (byte === CLOSE_BRACE)) this.#doubt()
    this.#state = this.#frames.length === 0 ? DONE : AFTER
    if (this.#onElement !== null && isPassedOn(this.#frames.at(-1))) {
      this.#onElement({ value: frame?.members, raw: this.#raw })
      this.#raw = null
      this.#documentBytes = 0
    }
  }

  /** Before the next member or element of the innermost frame. */
  #next(): void {
    const frame = this.#frames.at(-1)
    const projection = frame?.projection
    if (projection !== undefined && frame?.members === null) {
      // An element that is not kept would take room from what stands behind the array.
      const isFull = (frame.elements?.length ?? 0) >= MAX_ELEMENTS
      this.#projection = projection.kind !== 'elements' ? projection : isFull ? null : projection.element
      this.#state = VALUE
    } else {
      this.#state = KEY
    }
  }

  /** Walks on in an unwanted or captured container; stops after its end, or at a string inside it. */
  #skip(bytes: Buffer, start: number): number {
    const length = bytes.length
    let depth = this.#depth
    let at = start
    let near = start + MAX_STEPS
    while (at < length) {
      const end = near < length ? near : length
      while (at < end) {
        const byte = bytes[at]
        at += 1
        if (byte === QUOTE) {
          this.#state = SKIP_STRING
          this.#depth = depth
          return at
        }
        if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
          depth += 1
          near = 0
        } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
          depth -= 1
          near = 0
          if (depth === 0) {
            this.#depth = 0
            return at
          }
        }
      }
      if (near > 0 && at < length) at = this.#nextStructure(bytes, at)
      near = at + MAX_STEPS
    }
    this.#depth = depth
    return at
  }

  #nextStructure(bytes: Buffer, at: number): number {
    this.#structure ??= new StructureSearch(bytes)
    return this.#structure.nearest(at)
  }

  #beginKey(): void {
    const projection = this.#frames.at(-1)?.projection
    this.#capturing = true
    const longest = projection !== undefined && 'longestKey' in projection ? projection.longestKey : 0
    this.#capture.begin(longest * ESCAPE_BYTES)
    this.#state = KEY_STRING
  }

  #takeKey(bytes: Buffer, from: number, to: number): void {
    const frame = this.#frames.at(-1)
    this.#capturing = false
    this.#state = AFTER_KEY
    if (frame?.projection.kind === 'walk') {
      const walk = placeOfKey(frame.projection, bytes, from, to, this.#capture)
      if (walk === 'malformed') this.#doubt()
      else this.#projection = walk
      return
    }
    const wanted =
      frame?.projection.kind === 'members'
        ? memberOfKey(frame.projection, bytes, from, to, this.#capture)
        : null
    this.#projection = wanted?.projection ?? null
    if (frame !== undefined && wanted !== null) frame.key = wanted.key
    else if (this.#isStrict && frame?.projection.kind === 'members')
      this.#isAmbiguous ||= namesInOtherLetters(frame.projection, this.#capture.finish(bytes, from, to))
  }

  #passOn(walk: PathWalk, bytes: Buffer, from: number, to: number): void {
    const text = this.#capture.finish(bytes, from, to)
    const value = text === null ? null : parsedJson(text)
    if (value === undefined) this.#doubt()
    else if (value === null || typeof value === 'string') this.#onText?.(walk, value)
  }

  /** A value that is not a frame has ended. */
  #finish(bytes: Buffer, from: number, to: number): void {
    if (this.#projection?.kind === 'walk') {
      if (this.#capturing) this.#passOn(this.#projection, bytes, from, to)
      this.#capturing = false
    } else if (this.#capturing) {
      this.#capturing = false
      const text = this.#capture.finish(bytes, from, to)
      const value = text === null ? true : parsedJson(text)
      this.#documentBytes += text?.length ?? 0
      if (value !== undefined) this.#keep(value)
      const isUsage = this.#projection?.kind === 'keep' && this.#projection.isUsage
      if (isUsage && text !== null && value !== undefined && value !== null) this.#raw = text
    } else if (this.#lengthFrom >= 0) {
      this.#keep(this.#passedBytes + to - this.#lengthFrom)
      this.#lengthFrom = -1
    }
    this.#state = this.#frames.length === 0 ? DONE : AFTER
  }

  #keep(value: unknown): void {
    const frame = this.#frames.at(-1)
    if (frame === undefined) this.#root = value
    else if (frame.members !== null) {
      if (this.#isStrict && Object.hasOwn(frame.members, frame.key)) this.#isAmbiguous = true
      frame.members[frame.key] = value
    } else if (frame.elements !== null && frame.elements.length < MAX_ELEMENTS && !isPassedOn(frame)) {
      frame.elements.push(value)
    }
    const kind = this.#projection?.kind
    if (value !== null && (kind === 'keep' || kind === 'length')) this.revision += 1
  }
}

function isPassedOn(frame: ScanFrame | undefined): boolean {
  return frame?.projection.kind === 'elements' && frame.projection.isPassedOn
}
