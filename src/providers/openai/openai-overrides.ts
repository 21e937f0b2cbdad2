import type { Provider } from '../dialect.ts'
import { type Counts, parseCount, subtractCounts } from '../reading/counts.ts'
import { type JsonObject, member, objectsIn, textIn } from '../reading/json-value.ts'
import { costInTicks, costInUsd, totalCostInUsd } from '../reading/reported-cost.ts'
import {
  agentTools,
  connectors,
  deepResearch,
  routerTools,
  serverSideTools,
  toolsOrSources,
} from '../server-tools.ts'
import { addReasoning, type OpenAiOverrides } from './openai-usage.ts'

/** Streams carry no usage unless asked. */
const ASKED: OpenAiOverrides = { takesIncludeUsage: true }
/** Streams carry usage always, or the provider does not know the option. */
const UNASKED: OpenAiOverrides = { takesIncludeUsage: false }

/**
 * How each provider's OpenAI-style usage differs from OpenAI's own, with where that is known from. "Recorded"
 * means seen in real responses, checked against the provider's own totals or costs.
 */
export const OPENAI_OVERRIDES: { readonly [P in Provider]: OpenAiOverrides } = {
  openai: { takesIncludeUsage: true, readSearchTier: searchTool },
  'azure-openai': ASKED,
  'azure-ai': ASKED,
  anthropic: ASKED,
  // Thoughts are in neither count, only in the total (recorded).
  gemini: { takesIncludeUsage: true, correct: outputIsTheRest },
  vertex: { takesIncludeUsage: true, correct: outputIsTheRest, readTier: trafficType },
  bedrock: ASKED,
  // completion_tokens leaves reasoning out: total = prompt + completion + reasoning (recorded, 219 of 219).
  xai: {
    takesIncludeUsage: true,
    correct: addReasoning,
    readCost: costInTicks,
    readUnits: toolsOrSources,
    readToolUnits: serverSideTools,
  },
  // Always on the last chunk. reasoning_tokens can exceed completion_tokens, which is what is billed (recorded).
  openrouter: {
    takesIncludeUsage: false,
    readCost: costInUsd,
    readUnits: routerTools,
    readToolUnits: routerTools,
  },
  // Always on the last chunk; an unknown request field is refused with 422.
  mistral: { takesIncludeUsage: false, correct: audioIsApart, readUnits: connectors },
  // Always in `x_groq` of the last chunk (console.groq.com/docs/api-reference).
  groq: { takesIncludeUsage: false, isCompound: true },
  deepseek: UNASKED,
  cohere: ASKED,
  perplexity: {
    takesIncludeUsage: false,
    readCost: totalCostInUsd,
    readUnits: deepResearch,
    readToolUnits: agentTools,
    readTier: searchContext,
  },
  together: UNASKED,
  // Some models always report, others only when asked (vercel/ai pull request 16087).
  fireworks: ASKED,
  cerebras: ASKED,
  databricks: UNASKED,
  // google/ models: neither completion_tokens nor the total has reasoning; the cost proves it (recorded).
  'vercel-gateway': { takesIncludeUsage: true, correct: addReasoningOfGoogle, readCost: costInUsd },
  cloudflare: ASKED,
  'huggingface-router': ASKED,
  alibaba: ASKED,
  // Unasked, usage stands inside the last choice (earendil-works/pi issue 2017).
  moonshotai: { takesIncludeUsage: true, usageInChoices: true },
  zai: ASKED,
  voyageai: UNASKED,
  ollama: ASKED,
  vllm: ASKED,
  llamacpp: ASKED,
  tgi: ASKED,
  lmstudio: ASKED,
  'litellm-proxy': ASKED,
  gpustack: ASKED,
  'openai-compatible': ASKED,
}

function outputIsTheRest(counts: Counts, usage: JsonObject): Counts {
  const rest = subtractCounts(parseCount(usage.total_tokens), counts.inputTokens ?? null)
  return typeof rest === 'number' ? { ...counts, outputTokens: rest } : counts
}

function addReasoningOfGoogle(counts: Counts, _usage: JsonObject, model: string | null): Counts {
  return model?.startsWith('google/') === true ? addReasoning(counts) : counts
}

/**
 * Audio is not in `prompt_tokens` but in the total, and at times nowhere else, so the input is what the total
 * leaves beside the completion (recorded). Without audio that is the prompt itself.
 */
function audioIsApart(counts: Counts, usage: JsonObject): Counts {
  const rest = subtractCounts(parseCount(usage.total_tokens), counts.outputTokens ?? null)
  const isMore =
    typeof rest === 'number' && typeof counts.inputTokens === 'number' && rest > counts.inputTokens
  return isMore ? { ...counts, inputTokens: rest } : counts
}

/** Vertex's word for the tier, in OpenAI's format beside the counts. */
function trafficType(usage: JsonObject): string | null {
  return textIn(member(member(usage, 'extra_properties'), 'google')?.traffic_type)
}

/** docs.perplexity.ai, "Pricing": the fee of a request is by how much of the web it may read. */
function searchContext(usage: JsonObject): string | null {
  const size = textIn(usage.search_context_size)
  return size === null ? null : `search_${size}`
}

const DOES_NOT_REASON = /^gpt-4(?:o|\.1)(?:-|$)/

/** OpenAI's page "Pricing", "Built-in tools": with models that do not reason the older tool of web search is dearer. */
function searchTool(response: JsonObject): string | null {
  if (!DOES_NOT_REASON.test(textIn(response.model) ?? '')) return null
  const isPreview = objectsIn(response.tools).some(({ type }) =>
    textIn(type)?.startsWith('web_search_preview'),
  )
  return isPreview ? 'search_preview' : null
}
