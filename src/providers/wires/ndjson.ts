import { asBuffer, createElementBuffer, type ElementSink } from './elements.ts'
import type { Repeats } from './shapes/repeats.ts'

/** Splits a stream of JSON texts, one a line, wherever its bytes are cut. */
export interface LineSplitter {
  push(chunk: Uint8Array): void
  /** The body is over: what stands after the last line feed is a line too. */
  end(): void
}

const LINE_FEED = 0x0a

/**
 * NDJSON (Ollama, Cohere v1): lines end with LF or CRLF, empty ones are passed over, and a carriage return is
 * left for the JSON parser, to which it is white space. Found on the bytes, so a cut inside a character is harmless.
 * @param maxLineBytes larger lines reach the sink in pieces; for tests
 * @param repeats lines that need not be read, where the format has such
 */
export function createLineSplitter(
  sink: ElementSink,
  maxLineBytes?: number,
  repeats: Repeats | null = null,
): LineSplitter {
  const line = createElementBuffer(sink, maxLineBytes)
  return {
    push(chunk) {
      const bytes = asBuffer(chunk)
      repeats?.begin(bytes)
      let start = repeats !== null && line.size === 0 ? repeats.pass(0) : 0
      for (let feed = bytes.indexOf(LINE_FEED, start); feed !== -1; feed = bytes.indexOf(LINE_FEED, start)) {
        const isWhole = line.size === 0
        if (!isWhole || feed > start) {
          line.finish(bytes.subarray(start, feed))
          if (isWhole) repeats?.learn(bytes.subarray(start, feed + 1))
          else repeats?.drop()
        }
        start = repeats === null ? feed + 1 : repeats.pass(feed + 1)
      }
      if (start < bytes.length) line.add(bytes.subarray(start))
    },
    end() {
      if (line.size > 0) line.finish(Buffer.alloc(0))
    },
  }
}
