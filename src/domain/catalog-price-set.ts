import { buildLinearPrice, type LinearDefinition, type LinearPrice } from './price.ts'
import type { Rates } from './price-rates.ts'
import type { BilledUnits, TokenUsage } from './usage.ts'

/**
 * The prices of one model at one moment. Which of them a call has depends on what it used; each is linear by
 * itself, so that the calls of a day can be priced by their sums.
 */
export interface PriceSet {
  /** By rising size of prompt; a model without tiers has one. */
  readonly tiers: readonly TierPrices[]
  readonly habits: BillingHabits
}

/** How a provider counts and bills, apart from its rates. */
export interface BillingHabits {
  /** The least that a request with audio is billed for, in milliseconds; 0: what it has. */
  readonly minimumAudioMs: number
  /** Reasoning is never part of the output it reports. */
  readonly reasoningIsBeside: boolean
}

export const USUAL_HABITS: BillingHabits = { minimumAudioMs: 0, reasoningIsBeside: false }

export interface TierPrices {
  /** For calls of more input tokens than this. */
  readonly above: number
  readonly usual: LinearPrice
  /** For calls that used nothing. */
  readonly unused: LinearPrice
  /** For calls whose reasoning is not, or cannot be, part of their output. */
  readonly reasoningBeside: LinearPrice
  /** For calls with less audio than the least billed. */
  readonly shortAudio: LinearPrice
}

/** The prices of a model whose definitions are the same but for `context`, `variant` and rates. */
export function buildPriceSet(
  definition: Omit<LinearDefinition, 'context' | 'variant' | 'rates'>,
  tierStarts: readonly number[],
  ratesAbove: (above: number) => Rates,
  habits: BillingHabits,
): PriceSet {
  const { minimumAudioMs } = habits
  const lowerEnds = [...new Set([0, ...tierStarts])]
  const tiers = lowerEnds.map((above, index): TierPrices => {
    const context = lowerEnds.length === 1 ? null : { above, upTo: lowerEnds[index + 1] ?? null }
    const rates = ratesAbove(above)
    const build = (variant: LinearDefinition['variant'], variantRates: Rates) =>
      buildLinearPrice({ ...definition, context, variant, rates: variantRates })
    const usual = build(null, rates)
    const { request, audioMs, ...others } = rates
    return {
      above,
      usual,
      unused:
        request === undefined || request === 0n
          ? usual
          : build('no-request-fee', audioMs === undefined ? others : { ...others, audioMs }),
      reasoningBeside: rates.reasoning === undefined ? usual : build('reasoning-beside', rates),
      shortAudio:
        minimumAudioMs === 0 || audioMs === undefined
          ? usual
          : build('minimum-audio', {
              ...others,
              request: (request ?? 0n) + audioMs * BigInt(minimumAudioMs),
            }),
    }
  })
  return { tiers, habits }
}

/** The price of a call that used this. `isUsed`: whether any count is above 0. */
export function choosePrice(
  { tiers, habits }: PriceSet,
  usage: TokenUsage,
  units: BilledUnits,
  isUsed: boolean,
): LinearPrice | null {
  const inputTokens = usage.inputTokens ?? 0
  const tier =
    tiers.length === 1 ? tiers[0] : tiers.findLast(({ above }) => above === 0 || inputTokens > above)
  if (tier === undefined) return null
  if (!isUsed) return tier.unused
  const audioMs = units.audioMs ?? 0
  if (audioMs > 0 && audioMs < habits.minimumAudioMs) return tier.shortAudio
  const reasoning = usage.reasoningTokens ?? 0
  const isBeside = habits.reasoningIsBeside ? reasoning > 0 : reasoning > (usage.outputTokens ?? 0)
  if (isBeside) return tier.reasoningBeside
  return tier.usual
}

/** Whether anything that was used has a rate, so that the cost is not 0 only because nothing is known. */
export function coversUse({ definition }: LinearPrice, usage: TokenUsage, units: BilledUnits): boolean {
  const { rates } = definition
  return (
    (rates.input !== undefined && isSome(usage.inputTokens)) ||
    (rates.output !== undefined && isSome(usage.outputTokens)) ||
    rates.request !== undefined ||
    (rates.webSearch !== undefined && isSome(units.webSearches)) ||
    (rates.searchUnit !== undefined && isSome(units.searchUnits)) ||
    (rates.image !== undefined && isSome(units.images)) ||
    (rates.audioMs !== undefined && isSome(units.audioMs)) ||
    (rates.character !== undefined && isSome(units.characters)) ||
    (rates.page !== undefined && isSome(units.pages))
  )
}

function isSome(count: number | null): boolean {
  return count !== null && count > 0
}
