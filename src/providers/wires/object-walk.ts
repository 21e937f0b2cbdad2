import { CLOSING, FOREIGN, MEANING, OPENING, QUOTING, SCALAR, spaceEnd, stringEnd } from './json-bytes.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** The part that is to come next. */
const OBJECT = 0
const FIRST_KEY = 1
const KEY = 2
const KEY_END = 3
const COLON_SIGN = 4
const VALUE = 5
const STRING_END = 6
const SCALAR_END = 7
const NESTED = 8
const NESTED_STRING_END = 9
const COMMA_OR_END = 10
const END = 11
const MALFORMED = 12

/**
 * One member of an object, as offsets into the body: the key without its quotes, the value with everything.
 * Ends are exclusive. `elements`: of an array its strings, arrays and objects, numbers and the like left out.
 */
export type OnMember = (
  keyStart: number,
  keyEnd: number,
  valueStart: number,
  valueEnd: number,
  elements: number,
) => void

/** The inside of a string that stands in a nested value and is longer than {@link LONG_BYTES}, without its quotes. */
export type OnLongString = (start: number, end: number) => void

/** Shorter strings are left out. */
export const LONG_BYTES = 256

/**
 * Walks a body that is one JSON object and tells each of its own members; nested values are passed over. Keys,
 * colons, commas and the ends of strings are held to JSON, the inside of nested values only to balanced depth.
 * Linear in the bytes passed over, and flat: nesting costs no stack. May stop after any byte and go on from there.
 */
export class ObjectWalk {
  readonly #onMember: OnMember
  readonly #maxMembers: number
  readonly #onLongString: OnLongString | null
  #next = OBJECT
  #at: number
  #members = 0
  #depth = 0
  #keyStart = 0
  #keyEnd = 0
  #valueStart = 0
  #elements = 0
  #stringStart = 0

  /** @param start where the object begins, or white space before it. */
  constructor(
    start: number,
    maxMembers: number,
    onMember: OnMember,
    onLongString: OnLongString | null = null,
  ) {
    this.#at = start
    this.#maxMembers = maxMembers
    this.#onMember = onMember
    this.#onLongString = onLongString
  }

  /** The bytes passed so far are not such an object, or has more members than wanted: there is no use in going on. */
  get isMalformed(): boolean {
    return this.#next === MALFORMED
  }

  get hasTooManyMembers(): boolean {
    return this.#members > this.#maxMembers
  }

  /** Tells whether all of `body` was walked, and was one object with nothing around it but white space. */
  isWhole(body: Buffer): boolean {
    return this.#next === END && this.#at === body.length
  }

  /** Goes on to the end of `window`, the first bytes of the body: as many as before, or more. */
  advance(window: Buffer): void {
    while (this.#at < window.length && this.#next !== MALFORMED) {
      switch (this.#next) {
        case KEY_END:
          this.#endKey(window)
          break
        case STRING_END:
          this.#endString(window)
          break
        case SCALAR_END:
          this.#endScalar(window)
          break
        case NESTED:
          this.#walkNested(window)
          break
        case NESTED_STRING_END:
          this.#endNestedString(window)
          break
        default:
          this.#at = spaceEnd(window, this.#at)
          if (this.#at < window.length) this.#take(window[this.#at] ?? 0)
      }
    }
  }

  /** Takes a byte of the object's own, outside of strings and values. */
  #take(byte: number): void {
    switch (this.#next) {
      case OBJECT:
        this.#expect(byte === OPEN_BRACE, FIRST_KEY)
        return
      case FIRST_KEY:
        if (byte === CLOSE_BRACE) this.#expect(true, END)
        else this.#openKey(byte)
        return
      case KEY:
        this.#openKey(byte)
        return
      case COLON_SIGN:
        this.#expect(byte === COLON, VALUE)
        return
      case VALUE:
        this.#openValue(byte)
        return
      case COMMA_OR_END:
        if (byte === CLOSE_BRACE) this.#expect(true, END)
        else this.#expect(byte === COMMA, KEY)
        return
      default:
        this.#next = MALFORMED
    }
  }

  #expect(isThere: boolean, next: number): void {
    this.#at += 1
    this.#next = isThere ? next : MALFORMED
  }

  #openKey(byte: number): void {
    this.#expect(byte === QUOTE, KEY_END)
    this.#keyStart = this.#at
  }

  #endKey(window: Buffer): void {
    if (!this.#reachQuote(window)) return
    this.#keyEnd = this.#at
    this.#expect(true, COLON_SIGN)
  }

  #openValue(byte: number): void {
    this.#valueStart = this.#at
    this.#elements = 0
    if (byte === QUOTE) {
      this.#expect(true, STRING_END)
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth = 0
      this.#next = NESTED
    } else {
      this.#next = MEANING[byte] === SCALAR ? SCALAR_END : MALFORMED
    }
  }

  #endString(window: Buffer): void {
    if (!this.#reachQuote(window)) return
    this.#at += 1
    this.#endValue()
  }

  #endScalar(window: Buffer): void {
    const meanings = MEANING
    let at = this.#at
    while (at < window.length && meanings[window[at] ?? 0] === SCALAR) at++
    this.#at = at
    if (at < window.length) this.#endValue()
  }

  #walkNested(window: Buffer): void {
    const meanings = MEANING
    let depth = this.#depth
    let elements = this.#elements
    let at = this.#at
    for (; at < window.length; at++) {
      const meaning = meanings[window[at] ?? 0] ?? FOREIGN
      if (meaning < OPENING) continue
      if (meaning === QUOTING) {
        if (depth === 1) elements++
        const quote = stringEnd(window, at + 1)
        if (quote < 0) {
          this.#stringStart = at + 1
          this.#next = NESTED_STRING_END
          at = resumeAt(window, at + 1)
          break
        }
        if (quote - at > LONG_BYTES) this.#onLongString?.(at + 1, quote)
        at = quote
      } else if (meaning === OPENING) {
        if (depth === 1) elements++
        depth++
      } else if (meaning === CLOSING) {
        depth--
        if (depth > 0) continue
        this.#at = at + 1
        this.#elements = elements
        this.#endValue()
        return
      } else {
        this.#next = MALFORMED
        break
      }
    }
    this.#at = at
    this.#depth = depth
    this.#elements = elements
  }

  #endNestedString(window: Buffer): void {
    if (!this.#reachQuote(window)) return
    if (this.#at - this.#stringStart >= LONG_BYTES) this.#onLongString?.(this.#stringStart, this.#at)
    this.#at += 1
    this.#next = NESTED
  }

  #endValue(): void {
    this.#next = COMMA_OR_END
    this.#members += 1
    if (this.hasTooManyMembers) this.#next = MALFORMED
    else this.#onMember(this.#keyStart, this.#keyEnd, this.#valueStart, this.#at, this.#elements)
  }

  /** Goes to the quote that ends the string, or as far as there is none. */
  #reachQuote(window: Buffer): boolean {
    const quote = stringEnd(window, this.#at)
    this.#at = quote < 0 ? resumeAt(window, this.#at) : quote
    return quote >= 0
  }
}

/**
 * Position where the search for a string's end goes on that found none from `from` on: not at what the last backslash
 * escapes.
 */
function resumeAt(window: Buffer, from: number): number {
  let escapes = window.length
  while (escapes > from && window[escapes - 1] === BACKSLASH) escapes--
  return (window.length - escapes) % 2 === 0 ? Math.max(window.length, from) : window.length + 1
}
