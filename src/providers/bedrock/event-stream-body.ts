import type { Observation } from '../../call/observation.ts'
import type { ResponseHead, UsageReader } from '../dialect.ts'
import { answerIdIn, answerIdInHead, planWithAnswerId } from '../reading/answer-id.ts'
import type { BodyFormat } from '../reading/body-reader.ts'
import { createEventStreamReader, type EventMessage } from '../wires/eventstream.ts'
import { scanJson } from '../wires/json.ts'
import { isTelling } from '../wires/prefilter.ts'

/**
 * Reads an AWS event stream whose messages carry JSON. An exception in it, under a success status, is a failure,
 * and so are damaged bytes: what follows them cannot be read.
 * @param documentIn the JSON inside an event; `null` where the event is not worth a look
 */
export function createEventStreamBody(
  head: ResponseHead,
  format: BodyFormat,
  documentIn: (message: EventMessage) => Buffer | null,
): UsageReader {
  const gatherer = format.createGatherer()
  let revision = 0
  let peeked: Observation | null = null
  const plan = planWithAnswerId(format.plan)
  const idInHead = answerIdInHead(head)
  let answerId: string | null = null

  const observe = (ended: boolean): Observation => {
    const observation = gatherer.observe(ended)
    const id = idInHead ?? answerId
    return id === null ? observation : { ...observation, answerId: id }
  }

  const stream = createEventStreamReader((message) => {
    const isError = message.messageType !== 'event'
    const document = isError ? message.payload : documentIn(message)
    if (document === null) return
    if (!isError && !gatherer.wantsEvery && !isTelling(format.findTelling, document)) return
    const kept = scanJson(document, plan)
    answerId ??= answerIdIn(kept.value)
    if (!gatherer.take(kept, isError)) return
    revision += 1
    peeked = null
  })

  return {
    push: (chunk) => stream.push(chunk),
    end: () => observe(!stream.corrupt),
    peek() {
      peeked ??= observe(false)
      return peeked
    },
    get revision() {
      return revision
    },
  }
}

/** Whether a response is an event stream, by its media type, or, without a telling one, as `isExpected` has it. */
export function isEventStream(head: ResponseHead, isExpected: boolean): boolean {
  const contentType = head.headers['content-type']
  const text = (typeof contentType === 'string' ? contentType : contentType?.[0])?.toLowerCase() ?? ''
  return text.includes('eventstream') || (isExpected && head.status < 300 && !/json|text/.test(text))
}
