import type { BilledUnit, BilledUnits } from '../call/usage.ts'
import { millisecondsIn, sumUnits, unitsByTool, unitsIn } from './reading/billed-units.ts'
import { type JsonObject, member, objectIn } from './reading/json-value.ts'

/** What a usage object says of the provider's own tools; `null`: nothing. */
type ToolUnits = Partial<BilledUnits> | null

/** xAI's counts of calls, by the unit that prices them. Attachments have a price of their own, and no unit. */
const XAI_CALLS: ReadonlyMap<string, BilledUnit | null> = new Map<string, BilledUnit | null>([
  ['web_search_calls', 'webSearches'],
  ['code_interpreter_calls', 'codeRuns'],
  ['code_execution_calls', 'codeRuns'],
  ['file_search_calls', 'fileSearches'],
  ['collections_search_calls', 'fileSearches'],
  ['mcp_calls', null],
  // Told apart: see xSearchesIn.
  ['x_search_calls', null],
  ['x_posts_fetched', null],
  ['x_users_fetched', null],
])

/**
 * `server_side_tool_usage_details` of xAI. A search of X is billed by what it fetched, before 2026-09-21 by the call;
 * a profile costs twice what a post does and counts as two. Calls of other kinds count as others, and so do calls of
 * which only the number is told. https://docs.x.ai/developers/pricing
 */
export function serverSideTools(usage: JsonObject): ToolUnits {
  const details = member(usage, 'server_side_tool_usage_details')
  const all = unitsIn(usage.num_server_side_tools_used)
  if (details === null) return all === null || all === 0 ? null : { otherToolCalls: all }
  const units = unitsByTool(details, XAI_CALLS)
  let reported = 0
  for (const [name, value] of Object.entries(details))
    if (name.endsWith('_calls')) reported += unitsIn(value) ?? 0
  const untold = all === null || all <= reported ? null : all - reported
  return {
    ...units,
    xSearches: xSearchesIn(details),
    otherToolCalls: sumUnits(units.otherToolCalls ?? null, untold),
  }
}

function xSearchesIn(details: JsonObject): number | null {
  const posts = unitsIn(details.x_posts_fetched)
  const users = unitsIn(details.x_users_fetched)
  if (posts === null && users === null) return unitsIn(details.x_search_calls)
  return (posts ?? 0) + 2 * (users ?? 0)
}

/** xAI's chat, where Live Search was billed by each source it used: docs.x.ai, "Live Search" (retired). */
export function toolsOrSources(usage: JsonObject): ToolUnits {
  return serverSideTools(usage) ?? { webSearches: unitsIn(usage.num_sources_used) }
}

/**
 * OpenRouter's `server_tool_use`. A web search that it carries out itself is a tool call as well.
 * https://openrouter.ai/docs, "Web search", "Server tools"
 */
export function routerTools(usage: JsonObject): ToolUnits {
  const reported = member(usage, 'server_tool_use') ?? member(usage, 'server_tool_use_details')
  if (reported === null) return null
  const webSearches = unitsIn(reported.web_search_requests)
  const others = (unitsIn(reported.tool_calls_executed) ?? 0) - (webSearches ?? 0)
  return { webSearches, otherToolCalls: others > 0 ? others : null }
}

/** docs.perplexity.ai, "Pricing": deep research is billed by the query, and for the tokens of what it cites. */
export function deepResearch(usage: JsonObject): ToolUnits {
  return {
    webSearches: unitsIn(usage.num_search_queries),
    citationTokens: unitsIn(usage.citation_tokens),
  }
}

const PERPLEXITY_CALLS: ReadonlyMap<string, BilledUnit> = new Map([
  ['web_search', 'webSearches'],
  ['search_web', 'webSearches'],
  ['fetch_url', 'webFetches'],
])

/** `tool_calls_details` of Perplexity's agents: docs.perplexity.ai, "Agent API". */
export function agentTools(usage: JsonObject): ToolUnits {
  const reported = member(usage, 'tool_calls_details')
  if (reported === null) return null
  return unitsByTool(reported, PERPLEXITY_CALLS, (value) => unitsIn(objectIn(value)?.invocation ?? value))
}

const MISTRAL_CALLS: ReadonlyMap<string, BilledUnit> = new Map([
  ['web_search', 'webSearches'],
  ['code_interpreter', 'codeRuns'],
])

/** Mistral's seconds of sound, and calls of its connectors by name: docs.mistral.ai, "Agents", "Connectors". */
export function connectors(usage: JsonObject): ToolUnits {
  return {
    ...unitsByTool(member(usage, 'connectors') ?? {}, MISTRAL_CALLS),
    audioMs: millisecondsIn(usage.prompt_audio_seconds),
  }
}
