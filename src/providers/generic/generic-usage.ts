import { createEventStreamBody, isEventStream } from '../bedrock/event-stream-body.ts'
import type { Dialect } from '../dialect.ts'
import { bodyFormat } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-accumulator.ts'
import { createUpdateAccumulator, type UsageUpdate } from '../reading/usage-update.ts'
import { createUsageShapes } from './usage-shapes.ts'

const RESPONSE = {
  id: 'value',
  object: 'value',
  type: 'value',
  model: 'value',
  status: 'value',
  processing_status: 'value',
  background: 'value',
  service_tier: 'value',
  finish_reason: 'value',
  usage: 'usage',
  meta: 'usage',
  error: 'value',
} as const

/** Every place where a format that we know has usage, and what goes with it. What a model wrote stands in none. */
const FORMAT = bodyFormat({
  fields: {
    ...RESPONSE,
    modelVersion: 'value',
    usageMetadata: 'usage',
    stop_reason: 'value',
    done: 'value',
    prompt_eval_count: 'value',
    prompt_eval_cached_count: 'value',
    eval_count: 'value',
    choices: [{ finish_reason: 'value', error: 'value' }],
    candidates: [{ finishReason: 'value' }],
    x_groq: { usage: 'usage', error: 'value' },
    delta: { usage: 'usage', stop_reason: 'value', finish_reason: 'value' },
    message: { model: 'value', usage: 'usage' },
    response: RESPONSE,
    interaction: RESPONSE,
  },
  prefilter: ['usage', 'usageMetadata', 'eval_count', 'prompt_eval_count', 'meta', 'interaction', 'error'],
  createAccumulator,
})

/**
 * Reads the answers of paths that no dialect knows for the shapes of usage that we know, where the formats that have them
 * have them: OpenAI's chat, Responses and embeddings, Anthropic's messages, Gemini's generateContent and interactions,
 * Ollama's, Cohere's and Bedrock's Converse; JSON, lines of it, server-sent events and AWS event streams. Differences
 * of single providers are not known here, so what it finds may be less exact than an endpoint's own reader; where it
 * finds nothing the call is unpriced (`no_reader`), never free.
 */
export const genericUsage: Dialect = {
  name: 'generic',
  outputBound: 'unknown',
  readsRequest: false,
  takesIncludeUsage: false,
  isGeneric: true,
  countsTokens: false,
  modelInPath: () => null,
  createReader: (_request, head) =>
    isEventStream(head, false)
      ? createEventStreamBody(head, FORMAT, ({ payload }) => payload)
      : createBodyReader(head, FORMAT),
  textOf: () => '',
}

function createAccumulator(): UsageAccumulator {
  const shapes = createUsageShapes()
  return createUpdateAccumulator((document, raw) => {
    const response = member(document, 'response') ?? member(document, 'interaction') ?? document
    const found = shapes.read(document, response)
    return {
      ...found,
      raw: found === null ? null : raw,
      isFinal: isFinal(document, response),
      model: modelIn(document, response),
      serviceTier: textIn(response.service_tier) ?? found?.serviceTier ?? null,
      failed: carriesError(document) || response.status === 'failed',
      ...workIn(response),
    }
  })
}

function modelIn(document: JsonObject, response: JsonObject): string | null {
  return (
    textIn(member(document, 'message')?.model) ??
    textIn(response.model) ??
    textIn(document.model) ??
    textIn(document.modelVersion)
  )
}

/** What each format says when no later document of the same answer corrects its usage. */
function isFinal(document: JsonObject, response: JsonObject): boolean {
  if (typeof document.done === 'boolean') return document.done
  if (document.type === 'message_start') return false
  if (document.type === 'message_delta') return textIn(member(document, 'delta')?.stop_reason) !== null
  if (RUNNING.has(response.status)) return false
  const ends = [
    ...arrayIn(document.choices).map((choice) => objectIn(choice)?.finish_reason),
    ...arrayIn(document.candidates).map((candidate) => objectIn(candidate)?.finishReason),
  ]
  return ends.every((end) => end !== null && end !== undefined)
}

const RUNNING: ReadonlySet<unknown> = new Set(['queued', 'in_progress'])
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'expired', 'cancelled', 'failed', 'ended'])

/** Work that goes on behind the answer, and whose usage a later fetch reports: a batch, a response in the background. */
function workIn(response: JsonObject): Pick<UsageUpdate, 'responseId' | 'pending'> {
  const status = textIn(response.processing_status) ?? textIn(response.status)
  const isBatch = response.object === 'batch' || response.type === 'message_batch'
  const pending = isBatch
    ? status !== null && !ENDED.has(status)
    : response.background === true && RUNNING.has(status)
  const isFetchable = isBatch || response.object === 'response'
  return { responseId: isFetchable ? textIn(response.id) : null, pending }
}
