import type { UsagePart } from '../../call/observation.ts'
import type { BilledUnit, BilledUnits, TokenUsage } from '../../call/usage.ts'
import { unitsByTool, unitsOf } from '../reading/billed-units.ts'
import {
  addCounts,
  type CountedUsage,
  type Counts,
  countUsage,
  parseCount,
  sumUsage,
} from '../reading/counts.ts'
import { type JsonObject, member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'

/** The counts in Anthropic's usage object. */
export interface AnthropicUsage extends CountedUsage {
  readonly units: BilledUnits
  /** Per model where other models than the answering one worked on the call (advisor), else `null`. */
  readonly parts: readonly UsagePart[] | null
  /**
   * The tier, which the price depends on besides the model: `standard`, `priority` or `batch`, or `fast`; with `+us`
   * when inference was kept in the US, with `+fallback_credit` after a refusal of another model. `null`: not said.
   */
  readonly serviceTier: string | null
}

/**
 * Reads a Messages API usage object: the one of a whole message, or a stream's merged by
 * {@link mergeAnthropicUsage}. `model` is the answering one.
 *
 * `input_tokens` leaves out what was read from and written to the cache. `iterations` lists every sampling run;
 * compaction and advisor runs are billed but not in the top level, so with one of those the sum of the list
 * counts; with a fallback the top level does.
 * Source: platform.claude.com/docs, "Messages", "Prompt caching", "Compaction", "Advisor tool", "Fast mode".
 */
export function anthropicUsage(usage: JsonObject, model: string | null): AnthropicUsage {
  const said = { units: unitsOf(serverTools(usage)), serviceTier: serviceTierOf(usage) }
  const iterations = objectsIn(usage.iterations)
  const types = new Set(iterations.map((iteration) => iteration.type))
  const isSum = (types.has('compaction') || types.has('advisor_message')) && !types.has('fallback_message')
  const top = countUsage(countsOf(usage))
  if (!isSum) return { ...top, ...said, parts: null }
  const counted = iterations.map((iteration) => ({
    model: textIn(iteration.model) ?? model,
    ...countUsage(countsOf(iteration)),
  }))
  const invalid = counted.some((part) => part.invalid)
  // Reasoning is reported for the whole message only, and is the answering model's.
  const { reasoningTokens } = top.usage
  const sum = { ...sumUsage(counted.map((part) => part.usage)), reasoningTokens }
  return { ...said, usage: sum, invalid, parts: partsOf(counted, model, reasoningTokens) }
}

/** Counts of `server_tool_use` that have a unit, or (`null`) cost nothing but their tokens. */
const SERVER_TOOLS: ReadonlyMap<string, BilledUnit | null> = new Map([
  ['web_search_requests', 'webSearches'],
  ['web_fetch_requests', 'webFetches'],
  ['code_execution_requests', 'codeRuns'],
  ['tool_search_requests', null],
])

/**
 * Requests to Anthropic's own tools. Code is billed by the hour of its container, which no answer reports.
 * Source: platform.claude.com/docs, "Web search tool", "Web fetch tool", "Code execution tool".
 */
function serverTools(usage: JsonObject): Partial<BilledUnits> | null {
  const reported = member(usage, 'server_tool_use')
  return reported === null ? null : unitsByTool(reported, SERVER_TOOLS)
}

/** A stream's usage so far with a later event's laid over it: each field that is not null replaces. */
export function mergeAnthropicUsage(earlier: JsonObject | null, later: JsonObject): JsonObject {
  if (earlier === null) return later
  const merged = {
    ...earlier,
    ...Object.fromEntries(Object.entries(later).filter(([, value]) => value !== null)),
  }
  // The split of cache writes comes with the first event only; when a later one moves the total it is outdated.
  const movesTotal = merged.cache_creation_input_tokens !== earlier.cache_creation_input_tokens
  if (!movesTotal || objectIn(later.cache_creation) !== null) return merged
  // What was written for an hour stays so; how long the rest is kept is not known.
  const forAnHour = parseCount(member(earlier, 'cache_creation')?.ephemeral_1h_input_tokens)
  const total = parseCount(merged.cache_creation_input_tokens)
  const isPart =
    typeof forAnHour === 'number' && forAnHour > 0 && typeof total === 'number' && forAnHour <= total
  return { ...merged, cache_creation: isPart ? { ephemeral_1h_input_tokens: forAnHour } : null }
}

function countsOf(usage: JsonObject): Counts {
  const cacheRead = parseCount(usage.cache_read_input_tokens)
  const cacheWrite = parseCount(usage.cache_creation_input_tokens)
  const fresh = parseCount(usage.input_tokens)
  const split = member(usage, 'cache_creation')
  return {
    inputTokens: fresh === null ? null : addCounts(fresh, cacheRead, cacheWrite),
    outputTokens: parseCount(usage.output_tokens),
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    cacheWrite5mTokens: parseCount(split?.ephemeral_5m_input_tokens),
    cacheWrite1hTokens: parseCount(split?.ephemeral_1h_input_tokens),
    reasoningTokens: parseCount(member(usage, 'output_tokens_details')?.thinking_tokens),
  }
}

function partsOf(
  counted: readonly { readonly model: string | null; readonly usage: TokenUsage }[],
  model: string | null,
  reasoningTokens: number | null,
): readonly UsagePart[] | null {
  if (model === null || counted.every((part) => part.model === model)) return null
  const models = [...new Set(counted.map((part) => part.model))]
  return models.map((name) => {
    const usage = sumUsage(counted.filter((part) => part.model === name).map((part) => part.usage))
    return { model: name ?? model, usage: name === model ? { ...usage, reasoningTokens } : usage }
  })
}

/** Words for calls that are served as most are. */
const USUAL: ReadonlySet<string> = new Set(['', 'standard', 'global', 'not_available'])

/**
 * Each name that is not a usual one: an unknown tier is not the standard tier. A redeemed credit is one too: how much
 * of the conversation it makes cheaper no answer says.
 */
function serviceTierOf(usage: JsonObject): string | null {
  const tier = tierServed(usage)
  const credit = member(member(usage, 'fallback_credit'), 'status')?.type
  return credit === 'redeemed' ? `${tier ?? 'standard'}+fallback_credit` : tier
}

function tierServed(usage: JsonObject): string | null {
  const tier = textIn(usage.service_tier)
  const more = [usage.speed, usage.inference_geo].map((word) => textIn(word)?.toLowerCase() ?? '')
  const [speed = '', geo = ''] = more.map((word) => (USUAL.has(word) ? '' : word))
  if (speed === '' && geo === '') return tier
  const usual = tier === null || USUAL.has(tier)
  const served = speed === '' ? (tier ?? 'standard') : usual ? speed : `${tier}+${speed}`
  return geo === '' ? served : `${served}+${geo}`
}
