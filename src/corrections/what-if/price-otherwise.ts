import { reportedNoFigures } from '../../call/unpriced-reason.ts'
import { countsBy, TOKEN_CLASSES, type TokenUsage } from '../../call/usage.ts'
import type { Catalog } from '../../pricing/catalog/catalog.ts'
import type { PriceOfCall } from '../../pricing/catalog/catalog-call.ts'
import { isLinear, isPartly, type Price } from '../../pricing/price.ts'
import type { UsageSums } from '../../pricing/price-cost.ts'
import { askedAgain, negatedCall, type PastCall, UNPRICED_NOW } from '../../pricing/repricing/repricing.ts'
import { type NewRowCost, type PastRow, repriceRow } from '../../pricing/repricing/repricing-sums.ts'
import { type Supposed, type SupposedCall, supposeUse, type Uncertainty } from './supposed.ts'

/** What a call, or all calls of a row, would have cost. `unknown`: nothing can tell it. */
export type Otherwise =
  | { readonly kind: 'same' }
  | {
      readonly kind: 'cost'
      readonly leastPico: bigint
      readonly mostPico: bigint
      /** Empty: the two are one. */
      readonly because: readonly Uncertainty[]
    }
  | { readonly kind: 'unknown'; readonly reason: string }

const SAME: Otherwise = { kind: 'same' }
export const NO_COST = 'it has no cost now'

/**
 * Prices a past call by what is supposed, through the function that prices calls.
 *
 * @param model The name it is totalled under.
 * @param oldPrice The price behind `call.priceId`; `null`: not known, or there is none.
 */
export function priceOtherwise(
  supposed: Supposed,
  model: string,
  call: PastCall,
  oldPrice: Price | null,
): Otherwise {
  const { costPico, priceId, provider, upstream } = call
  if (costPico !== null && costPico < 0n)
    return negated(priceOtherwise(supposed, model, negatedCall(call, costPico), oldPrice))
  if (costPico === null && (call.usageSource === 'invalid' || reportedNoFigures(call.unpricedReason)))
    return unknown(NO_COST)
  if (costPico !== null && priceId === null) return SAME // it used nothing
  const asked = askedAgain(call, oldPrice)
  const { serviceTier, usage } = asked
  const found = supposeUse(supposed, { provider, upstream, model, usage, serviceTier })
  const isSwapped = found.kind === 'uses' && found.isSwapped
  const refusal = costPico === null ? null : refusalOf(oldPrice, isSwapped)
  if (found.kind === 'same') {
    if (supposed.pricesThen === supposed.pricesNow || oldPrice?.definition.basis === 'reported') return SAME
    if (refusal !== null) return unknown(refusal)
    const then = supposed.pricesThen.priceCall(asked)
    return isSamePrice(supposed.pricesNow.priceCall(asked), then) ? SAME : costOf([then], [], oldPrice)
  }
  if (refusal !== null) return unknown(refusal)
  if (found.kind === 'unknown') return found
  const priced = found.uses.map((use) =>
    supposed.pricesThen.priceCall({
      ...asked,
      provider: use.provider,
      upstream: use.upstream,
      usage: use.usage,
      serviceTier: use.serviceTier,
      ...(isSwapped ? { model: use.model, requestedModel: use.model } : {}),
    }),
  )
  if (found.isOtherTier && priced.some((one) => one.kind === 'priced' && !isOfItsTier(one.price)))
    return unknown(NO_TIER)
  return costOf(priced, found.because, oldPrice)
}

/** The same of a row of which no calls are kept: where its sums decide it. */
export function priceRowOtherwise(supposed: Supposed, row: PastRow, oldPrice: Price | null): Otherwise {
  const isUnpriced = row.priceId === '' || oldPrice?.definition.basis === 'unpriced'
  if (isUnpriced && row.unpriced === 0n) return SAME // they used nothing
  const serviceTier = oldPrice !== null && isLinear(oldPrice) ? oldPrice.definition.serviceTier : null
  const { provider, upstream, model } = row
  const found = supposeUse(supposed, { provider, upstream, model, usage: usageOf(row.sums), serviceTier })
  if (found.kind === 'same') {
    if (supposed.pricesThen === supposed.pricesNow || oldPrice?.definition.basis === 'reported') return SAME
    const [now, then] = [supposed.pricesNow, supposed.pricesThen].map((catalog) =>
      repriceRow(asOfNow(catalog), row, oldPrice),
    )
    if (now === undefined || then === undefined || then.kind === 'as_metered') return SAME
    if (now.kind === 'cost' && then.kind === 'cost' && now.price.id === then.price.id) return SAME
    return ofRows([then], [], oldPrice)
  }
  const refusal = isUnpriced ? null : refusalOf(oldPrice, false)
  if (refusal !== null) return unknown(refusal)
  if (found.kind === 'unknown') return found
  // Another id than the row's: its price may stay, and what it used is other.
  const priceId = isUnpriced ? row.priceId : `${row.priceId}?`
  const costs = found.uses.map((use) =>
    repriceRow(
      asOfNow(supposed.pricesThen),
      { ...row, ...use, priceId, sums: { ...row.sums, ...sumsOf(use.usage) } },
      servedAs(oldPrice, use, found.isSwapped),
    ),
  )
  const isOfTier = (cost: NewRowCost) => cost.kind !== 'cost' || isOfItsTier(cost.price)
  if (found.isOtherTier && !costs.every(isOfTier)) return unknown(NO_TIER)
  return ofRows(costs, found.because, oldPrice)
}

const NO_TIER = 'its model has no price at the other tier'
const LEAVES_OUT = 'its price then leaves out a part of what it used'

function unknown(reason: string): Otherwise {
  return { kind: 'unknown', reason }
}

function negated(found: Otherwise): Otherwise {
  if (found.kind !== 'cost') return found
  return { ...found, leastPico: -found.mostPico, mostPico: -found.leastPico }
}

/** Why it cannot be known of a call that has a cost. */
function refusalOf(oldPrice: Price | null, isSwapped: boolean): string | null {
  if (oldPrice === null) return 'the definition of its price is not known'
  const { basis } = oldPrice.definition
  if (basis === 'parts') return 'several models served it, and what each used is not kept'
  if (basis === 'reported' && !isSwapped) return 'its upstream said what it costs, and no price does'
  return null
}

function isSamePrice(one: PriceOfCall, other: PriceOfCall): boolean {
  if (one.kind === 'unpriced' || other.kind === 'unpriced') return one.kind === other.kind
  return one.priceId === other.priceId
}

function isOfItsTier(price: Price): boolean {
  return !isLinear(price) || price.definition.serviceTierPriced || price.definition.serviceTier === null
}

function costOf(
  priced: readonly PriceOfCall[],
  because: readonly Uncertainty[],
  oldPrice: Price | null,
): Otherwise {
  const costs: bigint[] = []
  for (const one of priced) {
    if (one.kind === 'unpriced')
      return unknown(one.reason === 'unknown_day' ? UNPRICED_NOW.no_price : UNPRICED_NOW[one.reason])
    if (isPartly(one.price) && (oldPrice === null || !isPartly(oldPrice))) return unknown(LEAVES_OUT)
    costs.push(one.costPico)
  }
  return between(costs, because)
}

function ofRows(
  found: readonly NewRowCost[],
  because: readonly Uncertainty[],
  oldPrice: Price | null,
): Otherwise {
  const costs: bigint[] = []
  for (const one of found) {
    if (one.kind === 'as_metered') return SAME
    if (one.kind === 'unknown_day') return unknown(UNPRICED_NOW.no_price)
    if (one.kind === 'unknown') return one
    if (isPartly(one.price) && (oldPrice === null || !isPartly(oldPrice))) return unknown(LEAVES_OUT)
    costs.push(one.costPico)
  }
  return between(costs, because)
}

function between(costs: readonly bigint[], because: readonly Uncertainty[]): Otherwise {
  const leastPico = costs.reduce((least, cost) => (cost < least ? cost : least))
  const mostPico = costs.reduce((most, cost) => (cost > most ? cost : most))
  return { kind: 'cost', leastPico, mostPico, because: leastPico === mostPico ? [] : because }
}

/** Prices that are listed without a day hold for what is supposed: nothing is corrected by them. */
function asOfNow(catalog: Catalog): Catalog {
  const same: Catalog = { ...catalog, ofPast: () => same }
  return same
}

/** A row's old price, which tells what its calls had alike, under the name and tier that are supposed. */
function servedAs(
  oldPrice: Price | null,
  { model, serviceTier }: SupposedCall,
  isSwapped: boolean,
): Price | null {
  if (oldPrice === null || !isLinear(oldPrice)) return oldPrice
  const name = isSwapped ? { source: 'supposed', model } : {}
  return { ...oldPrice, definition: { ...oldPrice.definition, ...name, serviceTier } }
}

function usageOf(sums: UsageSums): TokenUsage {
  return countsBy(TOKEN_CLASSES, (name) => Number(sums[name]))
}

function sumsOf(usage: TokenUsage) {
  return countsBy(TOKEN_CLASSES, (name) => BigInt(usage[name] ?? 0))
}
