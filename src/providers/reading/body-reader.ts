import type { Observation } from '../../call/observation.ts'
import type { ResponseHead, UsageReader } from '../dialect.ts'
import { asBuffer, type ElementSink } from '../wires/elements.ts'
import { type Extracted, JsonScanner, type Projection, scanJson } from '../wires/json.ts'
import { createArraySplitter } from '../wires/json-array.ts'
import { createLineSplitter } from '../wires/ndjson.ts'
import type { Prefilter } from '../wires/prefilter.ts'
import { SseSplitter } from '../wires/sse.ts'
import { answerIdIn, answerIdInHead, projectionWithAnswerId } from './answer-id.ts'

/** Puts together what the JSON documents of one response tell: a stream's events, or the one whole body. */
export interface UsageAccumulator {
  /** Whether events without a telling member are wanted too, for now: until the model's name is known. */
  readonly wantsEvery: boolean
  /**
   * Takes what was kept of the next document; `isError` when its event is named `error`. Gives whether
   * something new was learned.
   */
  add(extracted: Extracted, isError: boolean): boolean
  /** What was learned; `ended`: the body ended as it should, so nothing can correct it any more. */
  snapshot(ended: boolean): Observation
}

/** How an endpoint writes its JSON documents, whichever wire carries them. */
export interface BodyFormat {
  readonly projection: Projection
  /** Finds the events of a stream that are worth a scan. */
  readonly prefilter: Prefilter
  /** A body that begins with an object is one JSON document a line (Ollama). Known media types need no word. */
  readonly isLines?: boolean
  /** Of a stream's events, only the first one names the answer. */
  readonly namesItselfFirst?: true
  createAccumulator(): UsageAccumulator
}

type Wire = 'json' | 'lines' | 'array' | 'sse' | 'other'

/** One wire's way of turning bytes into documents. */
interface DocumentReader {
  push(bytes: Buffer): void
  end(): void
}

const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const NOT_TEXT = /^(?:audio|image|video)\/|^application\/(?:octet-stream|x-protobuf|zip|pdf)/
const LINES_TYPE = /ndjson|jsonl|json-?lines|stream\+json/

/**
 * Reads a body on whichever wire it comes: one JSON document, JSON lines, a JSON array or server-sent events.
 * The first bytes decide, helped by the content type, which servers get wrong at times: Gemini's array stream
 * says `application/json`, errors answer in JSON where a stream was asked for.
 */
export function createBodyReader(head: ResponseHead, format: BodyFormat): UsageReader {
  const contentType = contentTypeOf(head)
  const projection = projectionWithAnswerId(format.projection)
  const idInHead = answerIdInHead(head)
  let answerId: string | null = null
  let awaitsFirst = format.namesItselfFirst === true
  let accumulator = format.createAccumulator()
  let reader: DocumentReader | null = null
  let whole: JsonScanner | null = null
  let wholeRevision = 0
  let revision = 0
  let peeked: Observation | null = null

  const learnId = (extracted: Extracted): void => {
    awaitsFirst = false
    if (answerId !== null) return
    answerId = answerIdIn(extracted.value)
    if (answerId !== null) peeked = null
  }

  const add = (extracted: Extracted, isError: boolean): void => {
    if (extracted.value === undefined && !isError) return
    learnId(extracted)
    if (accumulator.add(extracted, isError)) {
      revision += 1
      peeked = null
    }
  }

  const begin = (wire: Wire): DocumentReader => {
    switch (wire) {
      case 'json': {
        const scanner = new JsonScanner(projection)
        whole = scanner
        return scanner
      }
      case 'lines':
        return createLineSplitter(elementSink(projection, add))
      case 'array': {
        const splitter = createArraySplitter(elementSink(projection, add))
        return { push: (bytes) => splitter.push(bytes), end: () => {} }
      }
      case 'sse':
        return sseReader({ ...format, projection }, () => awaitsFirst || accumulator.wantsEvery, add)
      case 'other':
        return { push: () => {}, end: () => {} }
      default:
        return wire satisfies never
    }
  }

  /** A whole document is gathered anew from what has been kept of it so far. */
  const addWholeBody = (): void => {
    if (whole === null || whole.revision === wholeRevision) return
    wholeRevision = whole.revision
    accumulator = format.createAccumulator()
    accumulator.add(whole.extracted, false)
    // Of several ids that it may have, the one of the answer need not come first.
    answerId = answerIdIn(whole.extracted.value)
    peeked = null
  }

  /** A body that carries an error is news only under a success status. */
  const snapshot = (ended: boolean): Observation => {
    const observation = accumulator.snapshot(ended)
    const id = idInHead ?? answerId
    const isNews = !observation.failed || head.status < 400
    if (id === null) return isNews ? observation : { ...observation, failed: false }
    return { ...observation, failed: observation.failed && isNews, answerId: id }
  }

  return {
    push(chunk) {
      const bytes = asBuffer(chunk)
      if (reader !== null) {
        reader.push(bytes)
        return
      }
      const start = firstByteOfText(bytes)
      if (start === -1) return
      reader = begin(wireOf(bytes[start] ?? 0, contentType, format.isLines === true))
      reader.push(bytes.subarray(start))
    },
    end() {
      reader?.end()
      addWholeBody()
      return snapshot(true)
    },
    peek() {
      addWholeBody()
      peeked ??= snapshot(false)
      return peeked
    },
    get revision() {
      return revision + (whole?.revision ?? 0)
    },
  }
}

/** Index of the first byte that is neither white space nor a byte order mark; -1: none yet. */
function firstByteOfText(bytes: Buffer): number {
  return bytes.findIndex(
    (byte) =>
      byte !== 0x20 &&
      byte !== 0x0a &&
      byte !== 0x0d &&
      byte !== 0x09 &&
      byte !== 0xef &&
      byte !== 0xbb &&
      byte !== 0xbf,
  )
}

function wireOf(firstByte: number, contentType: string, isLines: boolean): Wire {
  if (NOT_TEXT.test(contentType)) return 'other'
  if (firstByte === OPEN_BRACE) return isLines || LINES_TYPE.test(contentType) ? 'lines' : 'json'
  return firstByte === OPEN_BRACKET ? 'array' : 'sse'
}

function contentTypeOf(head: ResponseHead): string {
  const value = head.headers['content-type']
  const first = typeof value === 'string' ? value : value?.[0]
  return first?.toLowerCase() ?? ''
}

function elementSink(
  projection: Projection,
  add: (extracted: Extracted, isError: boolean) => void,
): ElementSink {
  let scanner: JsonScanner | null = null
  return {
    whole: (bytes) => add(scanJson(bytes, projection), false),
    piece(bytes, last) {
      scanner ??= new JsonScanner(projection)
      scanner.push(bytes)
      if (!last) return
      scanner.end()
      add(scanner.extracted, false)
      scanner = null
    },
  }
}

function sseReader(
  { projection, prefilter }: BodyFormat,
  wantsEvery: () => boolean,
  add: (extracted: Extracted, isError: boolean) => void,
): DocumentReader {
  return new SseSplitter(
    {
      get wantsEvery() {
        return wantsEvery()
      },
      event: (data, isError) => add(scanJson(data, projection), isError),
      openLong() {
        const scanner = new JsonScanner(projection)
        return {
          push: (piece) => scanner.push(piece),
          end(isError) {
            scanner.end()
            add(scanner.extracted, isError)
          },
        }
      },
    },
    prefilter,
  )
}
