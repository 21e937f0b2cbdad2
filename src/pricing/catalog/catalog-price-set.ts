import type { PromptLengths } from '../../call/observation.ts'
import { type BilledUnits, type TokenUsage, UNIT_DIMENSIONS } from '../../call/usage.ts'
import type { BillingRules } from '../billing-rules.ts'
import { buildLinearPrice, type LinearPrice } from '../price.ts'
import type { LinearDefinition } from '../price-definition.ts'
import { unpricedParts } from '../price-gaps.ts'
import type { RateClass, Rates } from '../price-rates.ts'

/**
 * The prices of one model at one moment. Which of them a call has depends on what it used; each is linear by
 * itself, so that the calls of a day can be priced by their sums.
 */
export interface PriceSet {
  /** By rising size of prompt; a model without tiers has one. */
  readonly tiers: readonly TierPrices[]
  readonly billingRules: BillingRules
  /** Classes whose price is not known in full, so that every call that used something is priced in part. */
  readonly gaps: readonly RateClass[]
}

export const USUAL_BILLING_RULES: BillingRules = {
  minimumAudioMs: 0,
  reasoningIsBeside: false,
  mediaIsApart: false,
  secondsAreBeside: false,
}

export interface TierPrices {
  /** For calls of more input tokens than this. */
  readonly above: number
  readonly usual: LinearPrice
  /** For calls that used nothing. */
  readonly unused: LinearPrice
  /** For calls whose reasoning is not, or cannot be, part of their output. */
  readonly reasoningBeside: LinearPrice
  /** For calls with more cached tokens than there are tokens: at the price of input. */
  readonly cacheNotBelieved: LinearPrice
  /** For calls with less audio than the least billed. */
  readonly shortAudio: LinearPrice
}

/** The prices of a model whose definitions are the same but for `context`, `variant` and rates. */
export function buildPriceSet(
  definition: Omit<LinearDefinition, 'context' | 'variant' | 'rates'>,
  tierStarts: readonly number[],
  ratesAbove: (above: number) => Rates,
  billingRules: BillingRules,
  gaps: readonly RateClass[] = [],
): PriceSet {
  const { minimumAudioMs } = billingRules
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
      cacheNotBelieved: build('cache-not-believed', withoutCache(rates)),
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
  return { tiers, billingRules, gaps }
}

/**
 * The price of a call that used this. `isUsed`: whether any count is above 0. Where something that was used has no rate,
 * it is the price that says so. `prompts`: of a sum over several requests, which has a price only where each of them is
 * known to have been at the same tier.
 */
export function choosePrice(
  set: PriceSet,
  usage: TokenUsage,
  units: BilledUnits,
  isUsed: boolean,
  prompts?: PromptLengths,
): LinearPrice | null {
  const price = chooseVariant(set, usage, units, isUsed, prompts)
  if (price === null) return null
  const { rates, variant } = price.definition
  // The least that is billed has the audio in it.
  const known = variant === 'minimum-audio' ? { ...rates, audioMs: 0n } : rates
  return priceWithGaps(price, set, isUsed, unpricedParts(known, set.billingRules, usage, units))
}

/** `price` of calls that used `unpriced` beside what has a rate. */
export function priceWithGaps(
  price: LinearPrice,
  { gaps: unsure }: Pick<PriceSet, 'gaps'>,
  isUsed: boolean,
  unpriced: readonly RateClass[] | null,
): LinearPrice {
  if (unsure.length === 0 || !isUsed) return unpriced === null ? price : withGaps(price, unpriced)
  return withGaps(price, [...new Set([...unsure, ...(unpriced ?? [])])])
}

const gaps = new WeakMap<LinearPrice, Map<string, LinearPrice>>()

/** The same price of calls that used what it has no rate for; as many as there are sets of such classes. */
function withGaps(price: LinearPrice, unpriced: readonly RateClass[]): LinearPrice {
  const known = gaps.get(price) ?? new Map<string, LinearPrice>()
  gaps.set(price, known)
  const key = unpriced.join()
  const built = known.get(key) ?? buildLinearPrice({ ...price.definition, unpriced })
  known.set(key, built)
  return built
}

function chooseVariant(
  { tiers, billingRules }: PriceSet,
  usage: TokenUsage,
  units: BilledUnits,
  isUsed: boolean,
  prompts: PromptLengths | undefined,
): LinearPrice | null {
  const inputTokens = usage.inputTokens ?? 0
  const tierOf = (prompt: number) =>
    tiers.length === 1 ? tiers[0] : tiers.findLast(({ above }) => above === 0 || prompt > above)
  const tier = tierOf(prompts?.longest ?? inputTokens)
  if (tier === undefined || (prompts !== undefined && tierOf(prompts.shortest) !== tier)) return null
  if (!isUsed) return tier.unused
  const audioMs = units.audioMs ?? 0
  if (audioMs > 0 && audioMs < billingRules.minimumAudioMs) return tier.shortAudio
  const reasoning = usage.reasoningTokens ?? 0
  if ((usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0) > inputTokens) return tier.cacheNotBelieved
  const isBeside = billingRules.reasoningIsBeside ? reasoning > 0 : reasoning > (usage.outputTokens ?? 0)
  if (isBeside) return tier.reasoningBeside
  return tier.usual
}

function withoutCache({
  cacheRead: _,
  cacheWrite: __,
  cacheWrite1h: ___,
  cacheReadAudio: ____,
  cacheWrite12h: _____,
  cacheReadImage: ______,
  ...rates
}: Rates) {
  return rates
}

/** Whether anything that was used has a rate, so that the cost is not 0 only because nothing is known. */
export function coversUse({ definition }: LinearPrice, usage: TokenUsage, units: BilledUnits): boolean {
  const { rates } = definition
  return (
    (rates.input !== undefined && isSome(usage.inputTokens)) ||
    (rates.output !== undefined && isSome(usage.outputTokens)) ||
    rates.request !== undefined ||
    UNIT_DIMENSIONS.some(({ name, rate }) => rates[rate] !== undefined && isSome(units[name]))
  )
}

function isSome(count: number | null): boolean {
  return count !== null && count > 0
}
