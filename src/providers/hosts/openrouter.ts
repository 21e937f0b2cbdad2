import type { BilledUnits } from '../../call/usage.ts'
import { listedAs } from '../catalog-lists.ts'
import { KEYS_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { type JsonObject, member } from '../reading/json-value.ts'
import { costInUsd } from '../reading/reported-cost.ts'

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
  openAi: {
    takesIncludeUsage: false,
    readCost: costInUsd,
    readUnits: routerTools,
    readToolUnits: routerTools,
  },
  endpoints: [],
  reportsCost: true,
  refusedPaths: [KEYS_REFUSED],
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
