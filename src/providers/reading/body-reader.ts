import type { Observation } from '../../call/observation.ts'
import type { ResponseHead, UsageReader } from '../dialect.ts'
import { asBuffer } from '../wires/elements.ts'
import { type Extracted, JsonScanner } from '../wires/json.ts'
import { createArraySplitter } from '../wires/json-array.ts'
import { createLineSplitter } from '../wires/ndjson.ts'
import { answerIdIn, answerIdInHead, projectionWithAnswerId } from './answer-id.ts'
import type { BodyFormat } from './body-format.ts'
import {
  contentTypeOf,
  type DocumentReader,
  elementSink,
  firstByteOfText,
  sseReader,
  type Wire,
  wireOf,
} from './document-wires.ts'
import { objectIn } from './json-value.ts'

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
  let awaitsFirst = format.namesItselfFirst
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
    if (accumulator.add(objectIn(extracted.value), extracted.raw, isError)) {
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
        return sseReader(projection, format.prefilter, () => awaitsFirst || accumulator.wantsEvery, add)
      case 'other':
        return { push: () => {}, end: () => {} }
      default:
        return wire satisfies never
    }
  }

  /** A whole document is read again from what has been extracted of it so far. */
  const addWholeBody = (): void => {
    if (whole === null || whole.revision === wholeRevision) return
    wholeRevision = whole.revision
    accumulator = format.createAccumulator()
    const { value, raw } = whole.extracted
    accumulator.add(objectIn(value), raw, false)
    // Of several ids that it may have, the one of the answer need not come first.
    answerId = answerIdIn(value)
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
      reader = begin(wireOf(bytes[start] ?? 0, contentType, format.isLines))
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
