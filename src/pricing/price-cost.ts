import {
  BILLED_UNITS,
  type BilledUnit,
  type BilledUnits,
  countsBy,
  NO_UNITS,
  TOKEN_CLASSES,
  type TokenClass,
  type TokenUsage,
} from '../call/usage.ts'
import type { LinearTerms, TermName, TokenTerm } from './price-rates.ts'

/** The terms of a price, as exact integers and, where they fit, as doubles for the fast way. */
export interface CostTerms {
  readonly exact: LinearTerms
  /** `null` where a term is not a safe integer. */
  readonly fast: Readonly<Record<TermName, number>> | null
}

export function buildCostTerms(exact: LinearTerms): CostTerms {
  const fast: Readonly<Record<TermName, number>> = {
    ...countsBy(TOKEN_TERMS, (name) => Number(exact[name])),
    requests: Number(exact.requests),
    ...countsBy(BILLED_UNITS, (name) => Number(exact[name])),
  }
  return { exact, fast: Object.values(fast).every(Number.isSafeInteger) ? fast : null }
}

const TOKEN_TERMS: readonly TokenTerm[] = TOKEN_CLASSES.filter((name) => name !== 'cacheWrite5mTokens')

/**
 * The cost of one call in integer pico-USD. `null` counts as 0. Linear: the sum of the costs of calls is
 * `costOfSums` of their summed counts. Counts must be non-negative safe integers whose parts fit in their whole
 * (see `contradiction`); others may make a cost that means nothing, even one below 0.
 */
export function costOf({ terms }: { terms: CostTerms }, usage: TokenUsage, units: BilledUnits): bigint {
  return fastCost(terms.fast, usage, units) ?? exactCost(terms.exact, sumsOfCall(usage, units))
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
  const cacheWrite12h = fast.cacheWrite12hTokens * (usage.cacheWrite12hTokens ?? 0)
  const cacheReadImage = fast.cacheReadImageTokens * (usage.cacheReadImageTokens ?? 0)
  const videoInput = fast.videoInputTokens * (usage.videoInputTokens ?? 0)
  const billed = fast.requests + (units === NO_UNITS ? 0 : fastUnits(fast, units))
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
    Math.abs(imageOutput) +
    Math.abs(cacheWrite12h) +
    Math.abs(cacheReadImage) +
    Math.abs(videoInput)
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
      cacheWrite12h +
      cacheReadImage +
      videoInput +
      billed,
  )
}

/** Most calls have none, and none of these rates is below 0. */
function fastUnits(fast: NonNullable<CostTerms['fast']>, units: BilledUnits): number {
  let sum = 0
  for (const name of BILLED_UNITS) sum += fast[name] * (units[name] ?? 0)
  return sum
}

function exactCost(terms: LinearTerms, sums: Readonly<Record<TermName, bigint>>): bigint {
  let cost = terms.requests * sums.requests
  for (const name of TOKEN_TERMS) cost += terms[name] * sums[name]
  for (const name of BILLED_UNITS) cost += terms[name] * sums[name]
  return cost
}

/** The counts of one call as sums; `null` counts as 0. */
export function sumsOfCall(usage: TokenUsage, units: BilledUnits): UsageSums {
  return {
    requests: 1n,
    ...countsBy(TOKEN_CLASSES, (name) => BigInt(usage[name] ?? 0)),
    ...countsBy(BILLED_UNITS, (name) => BigInt(units[name] ?? 0)),
  }
}
