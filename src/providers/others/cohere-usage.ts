import type { BilledUnits } from '../../call/usage.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { addCounts, type CountedUsage, countUsage, firstCount, parseCount } from '../reading/counts.ts'
import { type JsonObject, member } from '../reading/json-value.ts'

/** What Cohere says a call used, read. */
export interface CohereUsage extends CountedUsage {
  readonly units: Pick<BilledUnits, 'searchUnits' | 'images'>
}

/**
 * `usage` of v2 and `meta` of v1. What is billed is in `billed_units`; `tokens` beside it has the prompt's template
 * and the hidden tokens too, and `cached_tokens` is a part of those, so neither is a part of what is billed.
 * https://docs.cohere.com/reference/chat
 * @returns `null` when nothing is billed
 */
export function cohereUsage(usage: JsonObject): CohereUsage | null {
  const billed = member(usage, 'billed_units')
  const tokens = member(usage, 'tokens')
  const input = firstCount(parseCount(billed?.input_tokens), parseCount(tokens?.input_tokens))
  const imageTokens = parseCount(billed?.image_tokens)
  const output = firstCount(parseCount(billed?.output_tokens), parseCount(tokens?.output_tokens))
  const searchUnits = unitsIn(billed?.search_units)
  const images = unitsIn(billed?.images)
  if (firstCount(input, output, imageTokens, searchUnits, images) === null) return null
  const counted = countUsage({
    inputTokens: addCounts(input, imageTokens),
    outputTokens: output,
    imageInputTokens: imageTokens,
  })
  return { ...counted, units: { searchUnits, images } }
}
