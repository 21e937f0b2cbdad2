import type { LinearTerms } from './price-rates.ts'
import type { BilledUnit, BilledUnits, TokenClass, TokenUsage } from './usage.ts'

/** The terms of a price, as exact integers and, where they fit, as doubles for the fast way. */
export interface CostTerms {
  readonly exact: LinearTerms
  /** `null` where a term is no safe integer. */
  readonly fast: Readonly<Record<keyof LinearTerms, number>> | null
}

export function buildCostTerms(exact: LinearTerms): CostTerms {
  const fast = {
    inputTokens: Number(exact.inputTokens),
    cacheReadTokens: Number(exact.cacheReadTokens),
    cacheWriteTokens: Number(exact.cacheWriteTokens),
    cacheWrite1hTokens: Number(exact.cacheWrite1hTokens),
    audioInputTokens: Number(exact.audioInputTokens),
    cacheReadAudioTokens: Number(exact.cacheReadAudioTokens),
    imageInputTokens: Number(exact.imageInputTokens),
    outputTokens: Number(exact.outputTokens),
    reasoningTokens: Number(exact.reasoningTokens),
    audioOutputTokens: Number(exact.audioOutputTokens),
    imageOutputTokens: Number(exact.imageOutputTokens),
    requests: Number(exact.requests),
    webSearches: Number(exact.webSearches),
    searchUnits: Number(exact.searchUnits),
    images: Number(exact.images),
    audioMs: Number(exact.audioMs),
    characters: Number(exact.characters),
    pages: Number(exact.pages),
  }
  return { exact, fast: Object.values(fast).every(Number.isSafeInteger) ? fast : null }
}

/**
 * The cost of one call in integer pico-USD. `null` counts as 0. Linear: the sum of the costs of calls is
 * `costOfSums` of their summed counts. Counts must be non-negative safe integers whose parts fit in their whole
 * (see `contradiction`); others may make a cost that means nothing, even one below 0.
 */
export function costOf({ terms }: { terms: CostTerms }, usage: TokenUsage, units: BilledUnits): bigint {
  return fastCost(terms.fast, usage, units) ?? exactCost(terms.exact, countsOf(usage, units))
}

/** What many calls at one price counted, in all. Token classes and units as on the calls. */
export type UsageSums = Readonly<Record<TokenClass | BilledUnit | 'requests', bigint>>

/** The cost of all calls that add up to `sums`, in integer pico-USD. */
export function costOfSums({ terms }: { terms: CostTerms }, sums: UsageSums): bigint {
  return exactCost(terms.exact, sums)
}

/**
 * In doubles, several times as fast; `null` where it could be inexact. It is exact when even the sum of the
 * products' sizes stays below 2^53: then every product and every partial sum is an integer that a double holds.
 */
function fastCost(fast: CostTerms['fast'], usage: TokenUsage, units: BilledUnits): bigint | null {
  if (fast === null) return null
  const input = fast.inputTokens * (usage.inputTokens ?? 0)
  const output = fast.outputTokens * (usage.outputTokens ?? 0)
  const cacheRead = fast.cacheReadTokens * (usage.cacheReadTokens ?? 0)
  const cacheWrite = fast.cacheWriteTokens * (usage.cacheWriteTokens ?? 0)
  const cacheWrite1h = fast.cacheWrite1hTokens * (usage.cacheWrite1hTokens ?? 0)
  const audioInput = fast.audioInputTokens * (usage.audioInputTokens ?? 0)
  const cacheReadAudio = fast.cacheReadAudioTokens * (usage.cacheReadAudioTokens ?? 0)
  const imageInput = fast.imageInputTokens * (usage.imageInputTokens ?? 0)
  const reasoning = fast.reasoningTokens * (usage.reasoningTokens ?? 0)
  const audioOutput = fast.audioOutputTokens * (usage.audioOutputTokens ?? 0)
  const imageOutput = fast.imageOutputTokens * (usage.imageOutputTokens ?? 0)
  const billed =
    fast.requests +
    fast.webSearches * (units.webSearches ?? 0) +
    fast.searchUnits * (units.searchUnits ?? 0) +
    fast.images * (units.images ?? 0) +
    fast.audioMs * (units.audioMs ?? 0) +
    fast.characters * (units.characters ?? 0) +
    fast.pages * (units.pages ?? 0)
  const size =
    input +
    output +
    billed +
    Math.abs(cacheRead) +
    Math.abs(cacheWrite) +
    Math.abs(cacheWrite1h) +
    Math.abs(audioInput) +
    Math.abs(cacheReadAudio) +
    Math.abs(imageInput) +
    Math.abs(reasoning) +
    Math.abs(audioOutput) +
    Math.abs(imageOutput)
  if (size > Number.MAX_SAFE_INTEGER) return null
  return BigInt(
    input +
      output +
      cacheRead +
      cacheWrite +
      cacheWrite1h +
      audioInput +
      cacheReadAudio +
      imageInput +
      reasoning +
      audioOutput +
      imageOutput +
      billed,
  )
}

function exactCost(terms: LinearTerms, sums: Readonly<Record<keyof LinearTerms, bigint>>): bigint {
  return (
    terms.inputTokens * sums.inputTokens +
    terms.cacheReadTokens * sums.cacheReadTokens +
    terms.cacheWriteTokens * sums.cacheWriteTokens +
    terms.cacheWrite1hTokens * sums.cacheWrite1hTokens +
    terms.audioInputTokens * sums.audioInputTokens +
    terms.cacheReadAudioTokens * sums.cacheReadAudioTokens +
    terms.imageInputTokens * sums.imageInputTokens +
    terms.outputTokens * sums.outputTokens +
    terms.reasoningTokens * sums.reasoningTokens +
    terms.audioOutputTokens * sums.audioOutputTokens +
    terms.imageOutputTokens * sums.imageOutputTokens +
    terms.requests * sums.requests +
    terms.webSearches * sums.webSearches +
    terms.searchUnits * sums.searchUnits +
    terms.images * sums.images +
    terms.audioMs * sums.audioMs +
    terms.characters * sums.characters +
    terms.pages * sums.pages
  )
}

function countsOf(usage: TokenUsage, units: BilledUnits): UsageSums {
  return {
    requests: 1n,
    inputTokens: BigInt(usage.inputTokens ?? 0),
    outputTokens: BigInt(usage.outputTokens ?? 0),
    cacheReadTokens: BigInt(usage.cacheReadTokens ?? 0),
    cacheWriteTokens: BigInt(usage.cacheWriteTokens ?? 0),
    cacheWrite5mTokens: BigInt(usage.cacheWrite5mTokens ?? 0),
    cacheWrite1hTokens: BigInt(usage.cacheWrite1hTokens ?? 0),
    reasoningTokens: BigInt(usage.reasoningTokens ?? 0),
    audioInputTokens: BigInt(usage.audioInputTokens ?? 0),
    audioOutputTokens: BigInt(usage.audioOutputTokens ?? 0),
    imageInputTokens: BigInt(usage.imageInputTokens ?? 0),
    imageOutputTokens: BigInt(usage.imageOutputTokens ?? 0),
    cacheReadAudioTokens: BigInt(usage.cacheReadAudioTokens ?? 0),
    webSearches: BigInt(units.webSearches ?? 0),
    searchUnits: BigInt(units.searchUnits ?? 0),
    images: BigInt(units.images ?? 0),
    audioMs: BigInt(units.audioMs ?? 0),
    characters: BigInt(units.characters ?? 0),
    pages: BigInt(units.pages ?? 0),
  }
}
