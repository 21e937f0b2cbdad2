import type { BilledUnits } from '../../call/usage.ts'
import { type CatalogPlace, listedAs } from '../catalog-lists.ts'
import { postTo } from '../dialect.ts'
import { openAiImages } from '../media/openai-images.ts'
import { type OpenAiOverrides, USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { addReasoning } from '../openai/openai-usage.ts'
import { KEYS_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider, type PathGroup } from '../provider.ts'
import { unitsIn } from '../reading/billed-units.ts'
import type { Counts } from '../reading/counts.ts'
import { type JsonObject, member } from '../reading/json-value.ts'
import { costInUsd } from '../reading/reported-cost.ts'

const OPENROUTER: OpenAiOverrides = {
  takesIncludeUsage: false,
  readCost: costInUsd,
  readUnits: routerTools,
  readToolUnits: routerTools,
}

/**
 * OpenRouter. Usage stands on a stream's last chunk, always. `reasoning_tokens` can exceed `completion_tokens`, which is what
 * is billed (recorded).
 */
export const openrouter: HostedProvider = {
  hosts: ['openrouter.ai'],
  credential: BEARER,
  catalog: listedAs('openrouter'),
  apis: ['openai', 'anthropic'],
  isBelowV1: true,
  openAi: OPENROUTER,
  // Pictures of all makers, also where others are sent along: openrouter.ai/docs, "Image generation".
  endpoints: [postTo('/images', openAiImages(OPENROUTER, false))],
  reportsCost: true,
  refusedPaths: [KEYS_REFUSED],
  // `GET /generation?id=` and `/generation/content?id=`: openrouter.ai/docs/api/api-reference/generations.
  keepsAnswers: { idHeader: 'x-generation-id' },
}

/**
 * OpenRouter's `server_tool_use`. A web search that it carries out itself is a tool call as well.
 * https://openrouter.ai/docs, "Web search", "Server tools"
 */
function routerTools(usage: JsonObject): Partial<BilledUnits> | null {
  const reported = member(usage, 'server_tool_use') ?? member(usage, 'server_tool_use_details')
  if (reported === null) return null
  const webSearches = unitsIn(reported.web_search_requests)
  const others = (unitsIn(reported.tool_calls_executed) ?? 0) - (webSearches ?? 0)
  return { webSearches, otherToolCalls: others > 0 ? others : null }
}

/** Hosts behind the router that the catalog has lists of. */
const HOSTS = [
  'cerebras',
  'fireworks-ai',
  'groq',
  'hyperbolic',
  'nebius',
  'novita',
  'nscale',
  'ovhcloud',
  'publicai',
  'sambanova',
  'together',
] as const

/** Hugging Face's router to several hosts. */
export const huggingFaceRouter: HostedProvider = {
  hosts: ['router.huggingface.co'],
  credential: BEARER,
  catalog: {
    lists: HOSTS.map((host) => `huggingface_${host}`),
    requestNamesModel: true,
    // The host is the suffix that the client chose (`org/model:together`); without one it is not known.
    places(model) {
      const colon = model.lastIndexOf(':')
      if (colon < 0) return []
      return [{ providerId: `huggingface_${model.slice(colon + 1)}`, name: model.slice(0, colon) }]
    },
  },
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [],
}

/** Makers whose models come from themselves alone there; models of open weights come from several hosts. */
const MAKERS: ReadonlySet<string> = new Set(['openai', 'anthropic', 'google', 'mistral', 'x-ai', 'cohere'])

/** vercel.com/docs/ai-gateway/observability-and-spend/custom-reporting */
const REPORT_REFUSED: PathGroup = {
  patterns: ['* **/v1/report', '* **/v1/report/**'],
  why: 'shows what all clients spent',
}

/** Vercel's AI Gateway. */
export const vercelGateway: HostedProvider = {
  hosts: ['ai-gateway.vercel.sh'],
  credential: BEARER,
  catalog: {
    lists: [],
    otherLists: ['vercel'],
    // Its own list, else the maker's: "at provider list price, no markup", https://vercel.com/docs/ai-gateway/pricing.
    places: (model, findMaker) => [{ providerId: 'vercel', name: model, makers: makersOf(findMaker(model)) }],
  },
  // google/ models: neither completion_tokens nor the total has reasoning; the cost proves it (recorded).
  apis: ['openai', 'anthropic', 'google', 'bedrock', 'ollama', 'cohere'],
  openAi: { takesIncludeUsage: true, correct: addReasoningOfGoogle, readCost: costInUsd },
  endpoints: [],
  reportsCost: true,
  refusedPaths: [KEYS_REFUSED, REPORT_REFUSED],
  // `GET /v1/generation?id=`: vercel.com/docs/ai-gateway/observability-and-spend/usage.
  keepsAnswers: {},
}

function makersOf(made: CatalogPlace | null): readonly CatalogPlace[] {
  const isTheirs =
    made !== null && MAKERS.has(made.providerId) && !made.name.toLowerCase().startsWith('gpt-oss')
  return isTheirs ? [made] : []
}

function addReasoningOfGoogle(counts: Counts, _usage: JsonObject, model: string | null): Counts {
  return model?.startsWith('google/') === true ? addReasoning(counts) : counts
}
