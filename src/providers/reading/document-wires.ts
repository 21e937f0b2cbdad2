import type { ResponseHead, UsageReader } from '../dialect.ts'
import type { ElementSink } from '../wires/elements.ts'
import { type Extracted, JsonScanner, type Projection } from '../wires/json.ts'
import type { Prefilter } from '../wires/prefilter.ts'
import { scanJson } from '../wires/scan-json.ts'
import type { RepeatSink, Repeats } from '../wires/shapes/repeats.ts'
import { SseSplitter } from '../wires/sse.ts'

/**
 * The form that carries the documents of a body: one JSON text, lines of them, an array, server-sent events; `other`:
 * none.
 */
export type Wire = 'json' | 'lines' | 'array' | 'sse' | 'other'

/** One wire's way of turning bytes into documents. */
export interface DocumentReader {
  push(bytes: Buffer): void
  end(): void
  readonly hasNoUsage?: UsageReader['hasNoUsage']
}

/** The receiver of the documents of a body. */
export interface DocumentSink extends RepeatSink {
  /** Tells whether events that the prefilter passes over are wanted too, for now. */
  readonly wantsEvery: boolean
  /** Takes what was extracted of the next document; `isError`: its event is named `error`. */
  add(extracted: Extracted, isError: boolean): void
}

const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const NOT_TEXT = /^(?:audio|image|video)\/|^application\/(?:octet-stream|x-protobuf|zip|pdf)/
const LINES_TYPE = /ndjson|jsonl|json-?lines|stream\+json/

/** Index of the first byte that is neither white space nor a byte order mark; -1: none yet. */
export function firstByteOfText(bytes: Buffer): number {
  for (let at = 0; at < bytes.length; at += 1) if (!isBeforeText(bytes[at] ?? 0)) return at
  return -1
}

function isBeforeText(byte: number): boolean {
  return (
    byte === 0x20 ||
    byte === 0x0a ||
    byte === 0x0d ||
    byte === 0x09 ||
    byte === 0xef ||
    byte === 0xbb ||
    byte === 0xbf
  )
}

/**
 * The wire of a body that begins with `firstByte`. `contentType` in lower case. `isLines`: an object begins JSON lines.
 */
export function wireOf(firstByte: number, contentType: string, isLines: boolean): Wire {
  if (NOT_TEXT.test(contentType)) return 'other'
  if (firstByte === OPEN_BRACE) return isLines || LINES_TYPE.test(contentType) ? 'lines' : 'json'
  return firstByte === OPEN_BRACKET ? 'array' : 'sse'
}

/** The media type in lower case; '' without one. */
export function contentTypeOf(head: ResponseHead): string {
  const value = head.headers['content-type']
  const first = typeof value === 'string' ? value : value?.[0]
  return first?.toLowerCase() ?? ''
}

/** Scans each element of a stream of JSON texts. */
export function elementSink(projection: Projection, sink: Pick<DocumentSink, 'add'>): ElementSink {
  let scanner: JsonScanner | null = null
  return {
    whole: (bytes) => sink.add(scanJson(bytes, projection), false),
    piece(bytes, last) {
      scanner ??= new JsonScanner(projection)
      scanner.push(bytes)
      if (!last) return
      scanner.end()
      sink.add(scanner.extracted, false)
      scanner = null
    },
  }
}

/**
 * Scans the events that the prefilter lets through, and every event while the sink wants every one.
 * @param repeats events that need not be read, where the format has such
 */
export function sseReader(
  projection: Projection,
  prefilter: Prefilter,
  sink: DocumentSink,
  repeats: Repeats | null,
): DocumentReader {
  return new SseSplitter(
    {
      get wantsEvery() {
        return sink.wantsEvery
      },
      event: (data, isError) => sink.add(scanJson(data, projection), isError),
      openLong() {
        const scanner = new JsonScanner(projection)
        return {
          push: (piece) => scanner.push(piece),
          end(isError) {
            scanner.end()
            sink.add(scanner.extracted, isError)
          },
        }
      },
    },
    prefilter,
    repeats,
  )
}
