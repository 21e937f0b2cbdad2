import { anthropicUsage, mergeAnthropicUsage } from './anthropic/anthropic-usage.ts'
import { converseUsage } from './bedrock/bedrock-usage.ts'
import { createEventStreamBody, isEventStream } from './bedrock/event-stream-body.ts'
import type { Dialect } from './dialect.ts'
import { geminiUsage, interactionUsage } from './google/gemini-usage.ts'
import { cohereUsage } from './makers/cohere.ts'
import { type OpenAiOverrides, USAGE_IF_ASKED } from './openai/openai-overrides.ts'
import { chatUsage, type OpenAiUsage, promptOnlyUsage, responsesUsage } from './openai/openai-usage.ts'
import { bodyFormat, carriesError } from './reading/body-format.ts'
import { createBodyReader } from './reading/body-reader.ts'
import { type CountedUsage, countUsage, parseCount, totalDisagrees } from './reading/counts.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from './reading/json-value.ts'
import { costInTicks, costInUsd, totalCostInUsd } from './reading/reported-cost.ts'
import type { UsageAccumulator } from './reading/usage-update.ts'
import { createUpdateAccumulator, ifCounted, type UsageUpdate } from './reading/usage-update.ts'

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
 * Reads the answers of paths that no dialect knows for the shapes of usage that we know, where the formats that have
 * them have them: OpenAI's chat, Responses and embeddings, Anthropic's messages, Gemini's generateContent and
 * interactions, Ollama's, Cohere's and Bedrock's Converse, with the cost that routers write beside; JSON, lines of it,
 * server-sent events and AWS event streams.
 * Differences of single providers are not known here, so what it finds may be less exact than an endpoint's own reader;
 * where it finds nothing the call is unpriced (`no_reader`), never free.
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
    const reportedCostPico = costIn(member(response, 'usage') ?? member(document, 'usage'))
    return {
      ...found,
      raw: found === null && reportedCostPico === null ? null : raw,
      reportedCostPico,
      isFinal: isFinal(document, response),
      model: modelIn(document, response),
      serviceTier: textIn(response.service_tier) ?? found?.serviceTier ?? null,
      failed: carriesError(document) || response.status === 'failed',
      ...workIn(response),
    }
  })
}

/** The providers that report one write it in shapes that no other has. */
function costIn(usage: JsonObject | null): bigint | null {
  return usage === null ? null : (costInUsd(usage) ?? totalCostInUsd(usage) ?? costInTicks(usage))
}

function modelIn(document: JsonObject, response: JsonObject): string | null {
  return (
    textIn(member(document, 'message')?.model) ??
    textIn(response.model) ??
    textIn(document.model) ??
    textIn(document.modelVersion)
  )
}

/** Each format says this when no later document of the same answer corrects its usage. */
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

/**
 * Work that goes on behind the answer, and whose usage a later fetch reports: a batch, a response in the background.
 */
function workIn(response: JsonObject): Pick<UsageUpdate, 'responseId' | 'pending'> {
  const status = textIn(response.processing_status) ?? textIn(response.status)
  const isBatch = response.object === 'batch' || response.type === 'message_batch'
  const pending = isBatch
    ? status !== null && !ENDED.has(status)
    : response.background === true && RUNNING.has(status)
  const isFetchable = isBatch || response.object === 'response'
  return { responseId: isFetchable ? textIn(response.id) : null, pending }
}

type FoundUsage = Pick<UsageUpdate, 'usage' | 'units' | 'serviceTier'>

/** The shapes in which usage is written, distinguished by the members that only one of them has. */
interface UsageShapes {
  /** The usage in one document of an answer; `response`: the member of it that is the answer, or the document. */
  read(document: JsonObject, response: JsonObject): FoundUsage | null
}

/**
 * Anthropic's is laid over what earlier events of the same stream said, so each answer has its own.
 *
 * @param overrides how chat's differs at the provider, where that is known.
 */
export function createUsageShapes(overrides: OpenAiOverrides = USAGE_IF_ASKED): UsageShapes {
  let merged: JsonObject | null = null

  function readAnthropic(usage: JsonObject, model: string | null): FoundUsage {
    merged = mergeAnthropicUsage(merged, usage)
    const { units, serviceTier, parts: _, ...counted } = anthropicUsage(merged, model)
    return { usage: ifCounted(counted), units, serviceTier }
  }

  return {
    read(document, response) {
      const metadata = member(document, 'usageMetadata')
      if (metadata !== null) {
        const usage = geminiUsage(metadata)
        return { usage, serviceTier: usage?.serviceTier ?? null }
      }
      const message = member(document, 'message')
      const started = member(message, 'usage')
      if (started !== null) return readAnthropic(started, textIn(message?.model))
      const usage = member(response, 'usage') ?? member(document, 'usage') ?? usageBeside(document, response)
      if (usage === null) return ollamaUsage(document)
      return isAnthropic(document, usage)
        ? readAnthropic(usage, textIn(document.model))
        : readUsage(usage, document, overrides)
    },
  }
}

/** Groq and Cohere write it here. */
function usageBeside(document: JsonObject, response: JsonObject): JsonObject | null {
  return (
    member(member(document, 'x_groq'), 'usage') ??
    member(member(document, 'delta'), 'usage') ??
    member(response, 'meta')
  )
}

/** `input_tokens` is also what the Responses API calls its count, with the cached ones in it. */
function isAnthropic(document: JsonObject, usage: JsonObject): boolean {
  if (usage.prompt_tokens !== undefined) return false
  if (document.type === 'message' || document.type === 'message_delta') return true
  return usage.cache_read_input_tokens !== undefined || usage.cache_creation_input_tokens !== undefined
}

function readUsage(usage: JsonObject, document: JsonObject, overrides: OpenAiOverrides): FoundUsage | null {
  if (isSaid(usage.prompt_tokens) || isSaid(usage.completion_tokens)) {
    const isPromptOnly = !isSaid(usage.completion_tokens) && document.choices === undefined
    return openAi(isPromptOnly ? promptOnlyUsage(usage) : chatUsage(usage, overrides, null))
  }
  if (isSaid(usage.total_input_tokens) || isSaid(usage.total_output_tokens)) {
    return found(interactionUsage(usage))
  }
  if (isSaid(usage.inputTokens) || isSaid(usage.outputTokens)) return found(converseUsage(usage))
  if (member(usage, 'billed_units') !== null || member(usage, 'tokens') !== null) {
    const billed = cohereUsage(usage)
    return billed === null ? null : { usage: ifCounted(billed), units: billed.units }
  }
  if (isSaid(usage.input_tokens) || isSaid(usage.output_tokens)) return openAi(responsesUsage(usage))
  // Embeddings and rerankers of several providers write a total alone.
  return isSaid(usage.total_tokens) ? openAi(promptOnlyUsage(usage)) : null
}

function ollamaUsage({
  prompt_eval_count,
  prompt_eval_cached_count,
  eval_count,
}: JsonObject): FoundUsage | null {
  const counted = ifCounted(
    countUsage({
      inputTokens: parseCount(prompt_eval_count),
      cacheReadTokens: parseCount(prompt_eval_cached_count),
      outputTokens: parseCount(eval_count),
    }),
  )
  return found(counted)
}

function openAi(usage: OpenAiUsage): FoundUsage | null {
  return found(ifCounted({ ...usage, totalMismatch: totalDisagrees(usage.total, usage.usage) }))
}

function found(usage: (CountedUsage & { readonly totalMismatch?: boolean }) | null): FoundUsage | null {
  return usage === null ? null : { usage }
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null
}
