import type { Dialect } from '../dialect.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { member, objectIn, textIn } from '../reading/json-value.ts'
import { compileProjection } from '../wires/json.ts'
import { scanJson } from '../wires/scan-json.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { responsesText } from './openai-text.ts'
import { RESPONSE_FIELDS, ResponsesAccumulator } from './responses-accumulator.ts'
import { createSessionReader } from './responses-session.ts'

/** `response.create` of a session's client. */
const CREATE = compileProjection({ type: 'value', model: 'value', response: { model: 'value' } })

/**
 * The Responses API: creating a response, streamed or not, fetching or cancelling one, compacting.
 *
 * Usage comes with the terminal state: `completed`, `incomplete` and `failed` alike. A response in the background
 * (`queued`, `in_progress`) has none yet and is `pending`: a later fetch reports it, and may report it again, which is
 * what `responseId` is for. Source: OpenAI's API reference, "Responses", "Streaming events", "Background mode".
 */
export function openAiResponses(overrides: OpenAiOverrides): Dialect {
  return {
    ...jsonDialect({
      name: 'openai.responses',
      outputBound: 'max_output_tokens',
      isChat: true,
      hidesReasoningInSessions: true,
      fields: RESPONSE_FIELDS,
      prefilter: ['usage', 'error'],
      createAccumulator: () => new ResponsesAccumulator(overrides),
      textOf: responsesText,
    }),
    createMessageReader: () => createSessionReader(overrides),
    readClientMessage(message) {
      const event = objectIn(scanJson(message, CREATE).value)
      return {
        model: textIn(event?.model) ?? textIn(member(event, 'response')?.model),
        isAmbiguous: false,
        asks: event?.type === 'response.create',
      }
    },
  }
}
