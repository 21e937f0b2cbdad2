import type { CatalogPlace } from '../catalog-lists.ts'
import { addReasoning } from '../openai/openai-usage.ts'
import { KEYS_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import type { Counts } from '../reading/counts.ts'
import type { JsonObject } from '../reading/json-value.ts'
import { costInUsd } from '../reading/reported-cost.ts'

/** Makers whose models come from themselves alone there; models of open weights come from several hosts. */
const MAKERS: ReadonlySet<string> = new Set(['openai', 'anthropic', 'google', 'mistral', 'x-ai', 'cohere'])

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
  refusedPaths: [KEYS_REFUSED],
}

function makersOf(made: CatalogPlace | null): readonly CatalogPlace[] {
  const isTheirs =
    made !== null && MAKERS.has(made.providerId) && !made.name.toLowerCase().startsWith('gpt-oss')
  return isTheirs ? [made] : []
}

function addReasoningOfGoogle(counts: Counts, _usage: JsonObject, model: string | null): Counts {
  return model?.startsWith('google/') === true ? addReasoning(counts) : counts
}
