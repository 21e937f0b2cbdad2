import type { BilledUnits } from '../../call/usage.ts'
import { sumUnits, unitsIn } from '../reading/billed-units.ts'
import {
  addCounts,
  type Count,
  type CountedUsage,
  countUsage,
  firstCount,
  parseCount,
  restOfTotal,
  totalDisagrees,
} from '../reading/counts.ts'
import { arrayIn, type JsonObject, member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'
import { ifCounted } from '../reading/usage-update.ts'
import type { ProjectionSpec } from '../wires/json.ts'
import { MAX_ELEMENTS } from '../wires/plans/json-projection.ts'

/** One `usage` object of the Interactions API, read. */
export interface InteractionUsage extends CountedUsage {
  readonly totalMismatch: boolean
}

/** One `usageMetadata` object, read. */
export interface GeminiUsage extends InteractionUsage {
  /** Who was served how: `standard`, `flex`, `priority`, `provisioned`; `null`: not said. */
  readonly serviceTier: string | null
}

/**
 * `usageMetadata` of generateContent, streamGenerateContent, embedContent and Live, on AI Studio and Vertex.
 * `promptTokenCount` has the cached tokens in it but not those of tool use, `candidatesTokenCount` (in Live
 * `responseTokenCount`) not the thoughts: https://ai.google.dev/api/generate-content#UsageMetadata
 * @returns `null` when it holds no counts, as in a Vertex stream's early chunks, which only name the traffic's type
 */
export function geminiUsage(metadata: JsonObject): GeminiUsage | null {
  const prompt = parseCount(metadata.promptTokenCount)
  const toolUse = parseCount(metadata.toolUsePromptTokenCount)
  const answer = parseCount(firstOf(metadata, 'candidatesTokenCount', 'responseTokenCount'))
  const thoughts = parseCount(metadata.thoughtsTokenCount)
  const total = parseCount(metadata.totalTokenCount)
  const promptDetails = joined(metadata.promptTokensDetails, metadata.toolUsePromptTokensDetails)
  const answerDetails = answerDetailsOf(metadata)
  const counted = ifCounted(
    countUsage({
      inputTokens: addCounts(prompt, toolUse),
      outputTokens: firstCount(addCounts(answer, thoughts), restOfTotal(total, prompt, toolUse)),
      cacheReadTokens: parseCount(metadata.cachedContentTokenCount),
      reasoningTokens: thoughts,
      audioInputTokens: modalityCount(promptDetails, 'AUDIO'),
      audioOutputTokens: modalityCount(answerDetails, 'AUDIO'),
      imageInputTokens: modalityCount(promptDetails, 'IMAGE'),
      imageOutputTokens: modalityCount(answerDetails, 'IMAGE'),
      cacheReadAudioTokens: modalityCount(metadata.cacheTokensDetails, 'AUDIO'),
      cacheReadImageTokens: modalityCount(metadata.cacheTokensDetails, 'IMAGE'),
      videoInputTokens: modalityCount(promptDetails, 'VIDEO'),
    }),
  )
  if (counted === null) return null
  return {
    ...counted,
    // Live leaves the thoughts out of its total.
    totalMismatch:
      totalDisagrees(total, counted.usage) && totalDisagrees(addCounts(total, thoughts), counted.usage),
    serviceTier: tierIn(metadata.serviceTier) ?? tierIn(metadata.trafficType, TRAFFIC_NUMBERS),
  }
}

/**
 * `usage` of the Interactions API, where output leaves out the thoughts and input the tokens of tool use:
 * https://ai.google.dev/api/interactions-api
 * @returns `null` when it holds no counts
 */
export function interactionUsage(usage: JsonObject): InteractionUsage | null {
  const input = parseCount(usage.total_input_tokens)
  const toolUse = parseCount(usage.total_tool_use_tokens)
  const output = parseCount(usage.total_output_tokens)
  const thoughts = parseCount(firstOf(usage, 'total_thought_tokens', 'total_reasoning_tokens'))
  const total = parseCount(usage.total_tokens)
  const inputDetails = joined(usage.input_tokens_by_modality, usage.tool_use_tokens_by_modality)
  const counted = ifCounted(
    countUsage({
      inputTokens: addCounts(input, toolUse),
      outputTokens: firstCount(addCounts(output, thoughts), restOfTotal(total, input, toolUse)),
      cacheReadTokens: parseCount(usage.total_cached_tokens),
      reasoningTokens: thoughts,
      audioInputTokens: modalityCount(inputDetails, 'AUDIO'),
      audioOutputTokens: modalityCount(usage.output_tokens_by_modality, 'AUDIO'),
      imageInputTokens: modalityCount(inputDetails, 'IMAGE'),
      imageOutputTokens: modalityCount(usage.output_tokens_by_modality, 'IMAGE'),
      cacheReadAudioTokens: modalityCount(usage.cached_tokens_by_modality, 'AUDIO'),
      cacheReadImageTokens: modalityCount(usage.cached_tokens_by_modality, 'IMAGE'),
      videoInputTokens: modalityCount(inputDetails, 'VIDEO'),
    }),
  )
  if (counted === null) return null
  return {
    ...counted,
    totalMismatch: totalDisagrees(total, counted.usage),
  }
}

/**
 * `units` of an answer with its film: what it has in tokens is dearer than text and no class of its own here, so that it is
 * counted as another tool's call, which has no price.
 *
 * @param details The answer's tokens by modality.
 */
export function unitsWithFilm(
  units: Partial<BilledUnits> | null,
  details: unknown,
): Partial<BilledUnits> | null {
  const film = modalityCount(details, 'VIDEO')
  if (film === null || film === 'invalid' || film === 0) return units
  return { ...units, otherToolCalls: sumUnits(units?.otherToolCalls ?? null, 1) }
}

/** The answer's tokens by modality. */
export function answerDetailsOf(metadata: JsonObject | null): unknown {
  return metadata === null ? null : firstOf(metadata, 'candidatesTokensDetails', 'responseTokensDetails')
}

/** The part of `groundingMetadata` that is kept: what was asked for, and what kinds of sources were found. */
export const GROUNDING = {
  webSearchQueries: ['value'],
  imageSearchQueries: ['value'],
  retrievalQueries: ['value'],
  googleMapsWidgetContextToken: 'value',
  groundingChunks: [{ web: {}, maps: {} }],
} as const satisfies ProjectionSpec

/** More queries than these no answer has. What stands behind is one call of a tool without a price. */
const MAX_QUERIES = 1000

/** Searches by which one answer, or one turn of a session, was grounded. */
interface Grounding {
  /** Takes the `groundingMetadata` of one candidate in one chunk. */
  add(metadata: JsonObject): void
  /** The fees of it all; `null`: nothing was searched. `model`: the one that answered. */
  units(model: string | null): Partial<BilledUnits> | null
}

/**
 * Gathers the searches of an answer. Chunks and candidates repeat queries, so that each counts once; empty ones none.
 * Up to Gemini 2.5 a grounded prompt is billed, however many queries it took, since Gemini 3 each query. Where only
 * places of Maps were found the queries were for them, and at least one is billed then.
 * https://ai.google.dev/gemini-api/docs/pricing, https://ai.google.dev/api/generate-content#GroundingMetadata
 */
export function createGrounding(): Grounding {
  const web = new Set<string>()
  const others = new Set<string>()
  const maps = new Set<string>()
  let hasMaps = false
  let isCut = false
  const add = (queries: unknown, all: Set<string>) => {
    if (!addQueries(queries, all)) isCut = true
  }
  return {
    add(metadata) {
      const chunks = objectsIn(metadata.groundingChunks)
      const isOfMaps =
        textIn(metadata.googleMapsWidgetContextToken) !== null ||
        chunks.some(({ maps }) => objectIn(maps) !== null)
      hasMaps ||= isOfMaps
      const isOnlyOfMaps = isOfMaps && !chunks.some((chunk) => objectIn(chunk.web) !== null)
      add(metadata.webSearchQueries, isOnlyOfMaps ? maps : web)
      add(metadata.imageSearchQueries, others)
      add(metadata.retrievalQueries, others)
    },
    units(model) {
      if (web.size === 0 && others.size === 0 && !hasMaps) return null
      const isByPrompt = isBilledByPrompt(model)
      const fees = (queries: number) => (queries === 0 ? null : isByPrompt ? 1 : queries)
      const otherCalls = others.size + (isCut && !isByPrompt ? 1 : 0)
      return {
        webSearches: fees(web.size),
        mapSearches: fees(hasMaps ? Math.max(1, maps.size) : 0),
        // The price of a search for pictures is not published apart. One in the operator's data costs as its store does.
        otherToolCalls: otherCalls === 0 ? null : otherCalls,
      }
    },
  }
}

/** Takes the grounding of all candidates of an answer or of a chunk. */
export function addCandidates(grounding: Grounding, document: JsonObject): void {
  for (const candidate of arrayIn(document.candidates)) {
    const metadata = member(candidate, 'groundingMetadata')
    if (metadata !== null) grounding.add(metadata)
  }
}

const BY_PROMPT = /(?:^|[/-])gemini-(?:live-)?[12](?:\.|-)/

/** Tells whether a grounded prompt is what the searches of `model` are billed by, in the place of each query. */
function isBilledByPrompt(model: string | null): boolean {
  return model !== null && BY_PROMPT.test(model.toLowerCase())
}

/** Gives whether all of them are counted. */
function addQueries(queries: unknown, all: Set<string>): boolean {
  const listed = arrayIn(queries)
  for (const query of listed) {
    if (typeof query !== 'string' || query === '' || all.has(query)) continue
    if (all.size === MAX_QUERIES) return false
    all.add(query)
  }
  return listed.length < MAX_ELEMENTS
}

/** The searches that an interaction was grounded by, as its usage counts them; `null`: it counts none. */
export function interactionUnits(usage: JsonObject, model: string | null): Partial<BilledUnits> | null {
  const entries = objectsIn(usage.grounding_tool_count)
  if (entries.length === 0) return null
  const of = (isOf: (type: string) => boolean): number | null => {
    const counts = entries.filter(({ type }) => isOf(textIn(type) ?? '')).map(({ count }) => unitsIn(count))
    const sum = sumUnits(...counts)
    return sum !== null && isBilledByPrompt(model) ? Math.min(1, sum) : sum
  }
  return {
    webSearches: of((type) => type === 'google_search'),
    mapSearches: of((type) => type === 'google_maps'),
    otherToolCalls: of((type) => type !== 'google_search' && type !== 'google_maps'),
  }
}

/**
 * A tier by its name in the price list. One that is not known there keeps its own name, or its number where a client
 * asked for those, so that it is not taken for the usual one.
 */
function tierIn(value: unknown, numbers?: ReadonlyMap<number, string>): string | null {
  if (typeof value === 'number') return value === 0 ? null : (numbers?.get(value) ?? `tier_${value}`)
  const name = textIn(value)
  if (name === null || name === '' || /_UNSPECIFIED$/i.test(name)) return null
  return TRAFFIC_TIERS.get(name) ?? name.toLowerCase()
}

/** Values of `TrafficType` in Vertex's protocol buffers. */
const TRAFFIC_NUMBERS: ReadonlyMap<number, string> = new Map([
  [1, 'standard'],
  [2, 'provisioned'],
])

const TRAFFIC_TIERS: ReadonlyMap<string, string> = new Map([
  ['ON_DEMAND', 'standard'],
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['ON_DEMAND_FLEX', 'flex'],
  ['PROVISIONED_THROUGHPUT', 'provisioned'],
])

/** Numbers that stand for modalities where a client asked for `$alt=json;enum-encoding=int`. */
const MODALITY_NUMBERS: Readonly<Record<Modality, number>> = { IMAGE: 2, VIDEO: 3, AUDIO: 4 }
type Modality = 'AUDIO' | 'IMAGE' | 'VIDEO'

/** Tokens of one modality in a list of `{modality, tokenCount}`; `null` when the list has none of it. */
function modalityCount(details: unknown, modality: Modality): Count {
  let sum: Count = null
  for (const detail of arrayIn(details)) {
    const entry = objectIn(detail)
    if (entry === null) continue
    const name = entry.modality
    const isIt =
      typeof name === 'string' ? name.toUpperCase() === modality : name === MODALITY_NUMBERS[modality]
    if (isIt) sum = addCounts(sum, parseCount(firstOf(entry, 'tokenCount', 'tokens')))
  }
  return sum
}

/** The prompt's list with that of tools' prompts, which nearly no answer has. */
function joined(prompt: unknown, tools: unknown): unknown {
  return Array.isArray(tools) ? [...arrayIn(prompt), ...tools] : prompt
}

function firstOf(parent: JsonObject, ...keys: readonly string[]): unknown {
  for (const key of keys) if (parent[key] !== undefined && parent[key] !== null) return parent[key]
  return null
}
