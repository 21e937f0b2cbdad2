import type { Observation } from '../../call/observation.ts'
import type { ResponseHead, UsageReader } from '../dialect.ts'
import type { BodyFormat } from '../reading/body-format.ts'
import { answerIdIn, answerIdInHead, projectionWithAnswerId } from '../reading/body-reader.ts'
import { objectIn } from '../reading/json-value.ts'
import { createEventStreamReader, type EventMessage } from '../wires/eventstream.ts'
import { mayContainUsage } from '../wires/prefilter.ts'
import { scanJson } from '../wires/scan-json.ts'

/**
 * Reads an AWS event stream whose messages carry JSON. An exception in it, under a success status, is a failure,
 * and so are damaged bytes: what follows them cannot be read.
 * @param documentIn the JSON inside an event; `null` where the event reports nothing
 */
export function createEventStreamBody(
  head: ResponseHead,
  format: BodyFormat,
  documentIn: (message: EventMessage) => Buffer | null,
): UsageReader {
  const accumulator = format.createAccumulator()
  let revision = 0
  let peeked: Observation | null = null
  const projection = projectionWithAnswerId(format.projection)
  const idInHead = answerIdInHead(head)
  let answerId: string | null = null

  const snapshot = (ended: boolean): Observation => {
    const observation = accumulator.snapshot(ended)
    const id = idInHead ?? answerId
    return id === null ? observation : { ...observation, answerId: id }
  }

  const stream = createEventStreamReader((message) => {
    const isError = message.messageType !== 'event'
    const document = isError ? message.payload : documentIn(message)
    if (document === null) return
    if (!isError && !accumulator.wantsEvery && !mayContainUsage(format.prefilter, document)) return
    const extracted = scanJson(document, projection)
    answerId ??= answerIdIn(extracted.value)
    if (!accumulator.add(objectIn(extracted.value), extracted.raw, isError)) return
    revision += 1
    peeked = null
  })

  return {
    push: (chunk) => stream.push(chunk),
    end: () => snapshot(!stream.corrupt),
    peek() {
      peeked ??= snapshot(false)
      return peeked
    },
    get revision() {
      return revision
    },
  }
}

/** Tells whether a response is an event stream, by its media type; where that says nothing, `isExpected` decides. */
export function isEventStream(head: ResponseHead, isExpected: boolean): boolean {
  const contentType = head.headers['content-type']
  const text = (typeof contentType === 'string' ? contentType : contentType?.[0])?.toLowerCase() ?? ''
  return text.includes('eventstream') || (isExpected && head.status < 300 && !/json|text/.test(text))
}
