import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, QUOTE } from './json-bytes.ts'

/** Up to here a string's end is sought byte by byte; beyond, a native search is cheaper. */
const SHORT_STRING = 48
/** Pieces of one text before they are joined: a buffer object outweighs a byte by far. */
const MAX_PIECES = 64

/** Finds where a JSON string ends that may be spread over chunks, without decoding it. */
export class StringEnd {
  /** The last byte of the previous chunk was a backslash that escapes the next byte. */
  #escaped = false

  /** Index of the quote that ends the string which goes on at `start`, or -1 when it is not in this chunk. */
  find(bytes: Buffer, start: number): number {
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
}

/** Keeps the text of one value while it passes, up to a limit. */
export class TextCapture {
  #limit = 0
  #bytes = 0
  #chunks: Buffer[] = []

  begin(limit: number): void {
    this.#limit = limit
    this.#bytes = 0
    this.#chunks = []
  }

  /** More of the text; the bytes are borrowed, so they are copied. */
  add(bytes: Buffer, from: number, to: number): void {
    this.#bytes += to - from
    if (this.#bytes > this.#limit) {
      this.#chunks = []
    } else if (to > from) {
      this.#chunks.push(Buffer.from(bytes.subarray(from, to)))
      if (this.#chunks.length === MAX_PIECES) this.#chunks = [Buffer.concat(this.#chunks)]
    }
  }

  /** The whole text with its last bytes; `null` when it is over the limit. */
  finish(bytes: Buffer, from: number, to: number): string | null {
    if (this.#bytes + (to - from) > this.#limit) return null
    if (this.#chunks.length === 0) return bytes.toString('utf8', from, to)
    return Buffer.concat([...this.#chunks, bytes.subarray(from, to)]).toString()
  }
}

/** Tells whether backslashes, of which none is before `from`, make the quote at `quote` one of the text. */
export function isEscaped(text: string, from: number, quote: number): boolean {
  let at = quote
  while (at > from && text.charCodeAt(at - 1) === BACKSLASH) at -= 1
  return (quote - at) % 2 === 1
}

export function includesBackslash(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (bytes[at] === BACKSLASH) return true
  return false
}

/** ASCII, and nothing escaped. */
export function isPlainKey(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === BACKSLASH || byte >= 0x80) return false
  }
  return true
}

export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

export function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isSpace(byte)
}
