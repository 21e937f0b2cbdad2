import type { CostTerms } from './price-cost.ts'
import type { BilledUnits, TokenUsage } from './usage.ts'

/**
 * Why these counts cannot be priced by these terms; `null`: they can. A count must be a non-negative integer, and
 * what is priced apart must fit in what it is part of, or the plain rest would be negative: a credit.
 * Parts that have no price of their own are not looked at, as nothing hangs on them.
 */
export function contradiction(
  { exact }: CostTerms,
  usage: TokenUsage,
  units: BilledUnits,
  reasoningBeside: boolean,
): string | null {
  if (!areCounts(usage, units)) return 'a count is not a non-negative integer'

  const cacheRead = priced(exact.cacheReadTokens, usage.cacheReadTokens)
  const cacheWrite = priced(exact.cacheWriteTokens, usage.cacheWriteTokens)
  const input = usage.inputTokens ?? 0
  if (cacheRead + cacheWrite > input) return 'more cached than input tokens'
  if (priced(exact.cacheWrite1hTokens, usage.cacheWrite1hTokens) > (usage.cacheWriteTokens ?? 0)) {
    return 'more one-hour than all cache writes'
  }
  const audioInput = priced(exact.audioInputTokens, usage.audioInputTokens)
  const imageInput = priced(exact.imageInputTokens, usage.imageInputTokens)
  if (audioInput + imageInput > input) return 'more audio and image than input tokens'
  const cacheReadAudio = priced(exact.cacheReadAudioTokens, usage.cacheReadAudioTokens)
  if (cacheReadAudio > (usage.cacheReadTokens ?? 0) || cacheReadAudio > (usage.audioInputTokens ?? 0)) {
    return 'more cached audio than cached or audio tokens'
  }

  const output = usage.outputTokens ?? 0
  const audioOutput = priced(exact.audioOutputTokens, usage.audioOutputTokens)
  const imageOutput = priced(exact.imageOutputTokens, usage.imageOutputTokens)
  if (audioOutput + imageOutput > output) return 'more audio and image than output tokens'
  if (!reasoningBeside && priced(exact.reasoningTokens, usage.reasoningTokens) > output) {
    return 'more reasoning than output tokens'
  }
  return null
}

/** Spelled out: a loop over the names costs ten times as much, on every call. */
function areCounts(usage: TokenUsage, units: BilledUnits): boolean {
  return (
    isCount(usage.inputTokens) &&
    isCount(usage.outputTokens) &&
    isCount(usage.cacheReadTokens) &&
    isCount(usage.cacheWriteTokens) &&
    isCount(usage.cacheWrite5mTokens) &&
    isCount(usage.cacheWrite1hTokens) &&
    isCount(usage.reasoningTokens) &&
    isCount(usage.audioInputTokens) &&
    isCount(usage.audioOutputTokens) &&
    isCount(usage.imageInputTokens) &&
    isCount(usage.imageOutputTokens) &&
    isCount(usage.cacheReadAudioTokens) &&
    isCount(units.webSearches) &&
    isCount(units.searchUnits) &&
    isCount(units.images) &&
    isCount(units.audioMs) &&
    isCount(units.characters) &&
    isCount(units.pages)
  )
}

function isCount(count: number | null): boolean {
  return count === null || (Number.isSafeInteger(count) && count >= 0)
}

/** The count where it makes a difference to the cost, else 0. */
function priced(term: bigint, count: number | null): number {
  return count === null || count === 0 || term === 0n ? 0 : count
}
