import { asBuffer, createElementBuffer, type ElementSink } from './elements.ts'

/** Splits one JSON array, as it arrives, into its elements. */
export interface ArraySplitter {
  push(chunk: Uint8Array): void
  /** The text is not an array, or it ended: nothing more is read. */
  readonly finished: boolean
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * The elements of a top-level array (Gemini's stream without `alt=sse`), each as soon as its last byte is there,
 * wherever the bytes are cut. Only structure is read: whether an element is JSON, its parser decides.
 * Strings are passed over by searching for their end. Depth is a number, so no nesting can exhaust anything.
 * @param maxElementBytes larger elements reach the sink in pieces; for tests
 */
export function createArraySplitter(sink: ElementSink, maxElementBytes?: number): ArraySplitter {
  const element = createElementBuffer(sink, maxElementBytes)
  let opened = false
  let finished = false
  let depth = 0
  let inString = false
  let escaped = false

  /** Index just after the string's closing quote, or the chunk's length when it goes on. */
  function skipString(bytes: Buffer, from: number): number {
    let at = from
    while (at < bytes.length) {
      if (escaped) {
        escaped = false
        at += 1
        continue
      }
      const quote = bytes.indexOf(QUOTE, at)
      const stop = quote === -1 ? bytes.length : quote
      let backslashes = 0
      while (stop - backslashes > at && bytes[stop - backslashes - 1] === BACKSLASH) backslashes += 1
      const quoteIsEscaped = backslashes % 2 === 1
      if (quote === -1) {
        escaped = quoteIsEscaped
        return stop
      }
      at = quote + 1
      if (!quoteIsEscaped) {
        inString = false
        return at
      }
    }
    return at
  }

  return {
    push(chunk) {
      if (finished) return
      const bytes = asBuffer(chunk)
      let start = opened && element.size > 0 ? 0 : -1
      let at = 0
      while (at < bytes.length) {
        if (inString) {
          at = skipString(bytes, at)
          continue
        }
        const byte = bytes[at]
        const isSpace = byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
        if (!opened) {
          if (byte === OPEN_BRACKET) opened = true
          else if (!isSpace && !isByteOrderMark(byte)) {
            finished = true
            return
          }
        } else if (depth === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) {
          if (start !== -1) element.finish(bytes.subarray(start, at))
          start = -1
          if (byte === CLOSE_BRACKET) {
            finished = true
            return
          }
        } else if (start !== -1 || !isSpace) {
          if (start === -1) start = at
          if (byte === QUOTE) inString = true
          else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
          else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
            depth -= 1
            if (depth < 0) {
              finished = true
              return
            }
          }
        }
        at += 1
      }
      if (start !== -1) element.add(bytes.subarray(start))
    },
    get finished() {
      return finished
    },
  }
}

/** A byte of UTF-8's byte order mark, which some servers put before the text. */
function isByteOrderMark(byte: number | undefined): boolean {
  return byte === 0xef || byte === 0xbb || byte === 0xbf
}
