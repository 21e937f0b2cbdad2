import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { type Counts, parseCount, subtractCounts } from '../reading/counts.ts'
import { type JsonObject, member, textIn } from '../reading/json-value.ts'

/** At Google's endpoint in OpenAI's format, thoughts are in neither count, only in the total (recorded). */
export const GOOGLE_OVERRIDES: OpenAiOverrides = { takesIncludeUsage: true, correct: outputIsTheRest }

/** The same on Vertex, which reports the tier as well. */
export const VERTEX_OVERRIDES: OpenAiOverrides = { ...GOOGLE_OVERRIDES, readTier: trafficType }

function outputIsTheRest(counts: Counts, usage: JsonObject): Counts {
  const rest = subtractCounts(parseCount(usage.total_tokens), counts.inputTokens ?? null)
  return typeof rest === 'number' ? { ...counts, outputTokens: rest } : counts
}

/** Vertex's word for the tier, in OpenAI's format beside the counts. */
function trafficType(usage: JsonObject): string | null {
  return textIn(member(member(usage, 'extra_properties'), 'google')?.traffic_type)
}
