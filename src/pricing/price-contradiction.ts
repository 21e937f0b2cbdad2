import { BILLED_UNITS, type BilledUnits, NO_UNITS, type TokenUsage } from '../call/usage.ts'
import type { CostTerms } from './price-cost.ts'

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
  const long = priced(exact.cacheWrite1hTokens, usage.cacheWrite1hTokens)
  if (long + priced(exact.cacheWrite12hTokens, usage.cacheWrite12hTokens) > (usage.cacheWriteTokens ?? 0)) {
    return 'more long-lived than all cache writes'
  }
  const audioInput = priced(exact.audioInputTokens, usage.audioInputTokens)
  const imageInput = priced(exact.imageInputTokens, usage.imageInputTokens)
  const videoInput = priced(exact.videoInputTokens, usage.videoInputTokens)
  if (audioInput + imageInput + videoInput > input) return 'more audio, image and video than input tokens'
  const cacheReadAudio = priced(exact.cacheReadAudioTokens, usage.cacheReadAudioTokens)
  if (cacheReadAudio > (usage.cacheReadTokens ?? 0) || cacheReadAudio > (usage.audioInputTokens ?? 0)) {
    return 'more cached audio than cached or audio tokens'
  }
  const cacheReadImage = priced(exact.cacheReadImageTokens, usage.cacheReadImageTokens)
  if (cacheReadImage > (usage.cacheReadTokens ?? 0) || cacheReadImage > (usage.imageInputTokens ?? 0)) {
    return 'more cached image than cached or image tokens'
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
    isCount(usage.cacheWrite12hTokens) &&
    isCount(usage.cacheReadImageTokens) &&
    isCount(usage.videoInputTokens) &&
    (units === NO_UNITS || BILLED_UNITS.every((name) => isCount(units[name])))
  )
}

function isCount(count: number | null): boolean {
  return count === null || (Number.isSafeInteger(count) && count >= 0)
}

/** The count where it makes a difference to the cost, else 0. */
function priced(term: bigint, count: number | null): number {
  return count === null || count === 0 || term === 0n ? 0 : count
}
