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
  /** The least that a request with audio is billed for, in milliseconds; 0: what it has. */
  readonly minimumAudioMs: number
}

export interface TierPrices {
  /** For calls of more input tokens than this. */
  readonly above: number
  readonly usual: LinearPrice
  /** For calls that used nothing. */
  readonly unused: LinearPrice
  /** For calls that report more reasoning than output, so that it cannot be part of it. */
  readonly reasoningBeside: LinearPrice
  /** For calls with less audio than the least billed. */
  readonly shortAudio: LinearPrice
}

/** The prices of a model whose definitions are the same but for `context`, `variant` and rates. */
export function buildPriceSet(
  definition: Omit<LinearDefinition, 'context' | 'variant' | 'rates'>,
  tierStarts: readonly number[],
  ratesAbove: (above: number) => Rates,
  minimumAudioMs: number,
): PriceSet {
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
  return { tiers, minimumAudioMs }
}

/** The price of a call that used this. `isUsed`: whether any count is above 0. */
export function choosePrice(
  { tiers, minimumAudioMs }: PriceSet,
  usage: TokenUsage,
  units: BilledUnits,
  isUsed: boolean,
): LinearPrice | null {
  const inputTokens = usage.inputTokens ?? 0
  const tier =
    tiers.length === 1 ? tiers[0] : tiers.findLast(({ above }) => above === 0 || inputTokens > above)
  if (tier === undefined) return null
  if (!isUsed) return tier.unused
  if (units.audioMs !== null && units.audioMs > 0 && units.audioMs < minimumAudioMs) return tier.shortAudio
  if ((usage.reasoningTokens ?? 0) > (usage.outputTokens ?? 0)) return tier.reasoningBeside
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
