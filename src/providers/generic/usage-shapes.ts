import { anthropicUsage, mergeAnthropicUsage } from '../anthropic/anthropic-usage.ts'
import { converseUsage } from '../bedrock/bedrock-usage.ts'
import { geminiUsage, interactionUsage } from '../google/gemini-usage.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatUsage, type OpenAiUsage, promptOnlyUsage, responsesUsage } from '../openai/openai-usage.ts'
import { cohereUsage } from '../others/cohere-usage.ts'
import { type CountedUsage, countUsage, parseCount, totalDisagrees } from '../reading/counts.ts'
import { type JsonObject, member, textIn } from '../reading/json-value.ts'
import { ifCounted, type UsageUpdate } from '../reading/usage-update.ts'

export type FoundUsage = Pick<UsageUpdate, 'usage' | 'units' | 'serviceTier'>

/** The shapes in which usage is written, distinguished by the members that only one of them has. */
export interface UsageShapes {
  /** The usage in one document of an answer; `response`: the member of it that is the answer, or the document. */
  read(document: JsonObject, response: JsonObject): FoundUsage | null
}

/** Anthropic's is laid over what earlier events of the same stream said, so each answer has its own. */
export function createUsageShapes(): UsageShapes {
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
        : readUsage(usage, document)
    },
  }
}

/** Where Groq and Cohere write it. */
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

function readUsage(usage: JsonObject, document: JsonObject): FoundUsage | null {
  if (isSaid(usage.prompt_tokens) || isSaid(usage.completion_tokens)) {
    const isPromptOnly = !isSaid(usage.completion_tokens) && document.choices === undefined
    return openAi(isPromptOnly ? promptOnlyUsage(usage) : chatUsage(usage, USAGE_IF_ASKED, null))
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
