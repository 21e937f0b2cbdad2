import type { CallToPrice, Priced, PriceOfCall, Unpriced } from './catalog-call.ts'
import { choosePrice, coversUse } from './catalog-price-set.ts'
import type { PriceAnswer } from './catalog-resolve.ts'
import { scaleToInteger } from './decimal.ts'
import { buildPartsPrice, type FixedPrice, type LinearPrice } from './price.ts'
import { contradiction } from './price-contradiction.ts'
import { costOf } from './price-cost.ts'
import type { Factor } from './price-markups.ts'
import { BILLED_UNITS, type BilledUnits, TOKEN_CLASSES, type TokenUsage } from './usage.ts'

/** A call, or a part of one, that one model served. */
export type Use = Pick<CallToPrice, 'model' | 'requestedModel' | 'usage' | 'units'>

type LinearCost = Priced & { readonly price: LinearPrice }

/** What a use costs at the prices found for its model. */
export function priceUse(
  { found, missing }: Pick<PriceAnswer, 'found' | 'missing'>,
  use: Use,
): LinearCost | Unpriced {
  const { usage, units } = use
  const model = use.model ?? use.requestedModel
  const isUsed = hasUse(use)
  const price = found === null ? null : choosePrice(found.prices, usage, units, isUsed)
  if (price === null) {
    const reason = !isUsed ? 'nothing_used' : model === null ? 'no_model' : (missing ?? 'no_price')
    return { kind: 'unpriced', reason, model }
  }
  const isBeside = price.definition.variant === 'reasoning-beside'
  if (contradiction(price.terms, usage, units, isBeside) !== null) {
    return { kind: 'unpriced', reason: 'contradictory_usage', model }
  }
  if (isUsed && !coversUse(price, usage, units)) {
    return { kind: 'unpriced', reason: 'use_without_price', model }
  }
  const costPico = costOf(price, usage, units)
  // Parts that overlap without saying so (cached audio) can take off more than there is: a credit is never right.
  if (costPico < 0n) return { kind: 'unpriced', reason: 'contradictory_usage', model }
  return { kind: 'priced', costPico, price, priceId: price.id }
}

/** The upstream's own figure, times the markups, halves of a pico-dollar rounded up. */
export function takeReported(price: FixedPrice, factor: Factor, reportedPico: bigint): Priced {
  const costPico = scaleToInteger(factor.value, reportedPico, 1n)
  return { kind: 'priced', costPico, price, priceId: price.id }
}

/**
 * A call served by several models. Where one price serves all its parts, that is the call's price; else the cost
 * stands under a price that names the others. One part without a price leaves the whole call without.
 */
export function addUp(parts: readonly (LinearCost | Unpriced)[], call: CallToPrice): PriceOfCall {
  const priced: LinearCost[] = []
  for (const part of parts) {
    if (part.kind === 'unpriced') return part
    priced.push(part)
  }
  const costPico = priced.reduce((sum, part) => sum + part.costPico, 0n)
  const [first, ...others] = priced
  const isOnePrice = first !== undefined && others.every(({ priceId }) => priceId === first.priceId)
  if (isOnePrice && costOf(first.price, call.usage, call.units) === costPico) return { ...first, costPico }
  const price = buildPartsPrice({ basis: 'parts', prices: priced.map(({ priceId }) => priceId) })
  return { kind: 'priced', costPico, price, priceId: price.id }
}

/** Whether anything was counted. */
export function hasUse({ usage, units }: { usage: TokenUsage; units: BilledUnits }): boolean {
  if ((usage.inputTokens ?? 0) > 0 || (usage.outputTokens ?? 0) > 0) return true
  return (
    TOKEN_CLASSES.some((name) => (usage[name] ?? 0) > 0) ||
    BILLED_UNITS.some((name) => (units[name] ?? 0) > 0)
  )
}
