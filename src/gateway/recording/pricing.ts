import type { OpenCall } from '../../call/call-record.ts'
import type { UnpricedReason } from '../../call/unpriced-reason.ts'
import type { Catalog } from '../../pricing/catalog/catalog.ts'
import type { BesideCost, BesideReported, CallToPrice } from '../../pricing/catalog/catalog-call.ts'
import { isPartly, type Price } from '../../pricing/price.ts'

/** What a call costs, or why that cannot be said. */
export type PricedCall = {
  /** Of a session: what other models cost that it ran, by part. */
  readonly beside?: readonly BesideCost[] | undefined
} & (
  | {
      readonly kind: 'priced'
      readonly costPico: bigint
      readonly priceId: string | null
      readonly definition: string | null
      /** Something that was counted has no price, so the cost is not all of it. */
      readonly isPartly?: boolean
      readonly reported?: BesideReported | undefined
    }
  | {
      readonly kind: 'unpriced'
      readonly reason: UnpricedReason
      /** Of a call at another service tier than standard: what keeps it apart. */
      readonly priceId?: string | null
      readonly definition?: string | null
      readonly reported?: BesideReported | undefined
    }
)

/** The prices of a process, as the end of a call asks for them. */
export interface Pricing {
  /** Never throws; a call without a price is `unpriced`, never free. */
  priceCall(call: CallToPrice): PricedCall
  /**
   * Whether an upstream or the configuration lists the model that `call` asked for, or the catalog has a
   * price for it.
   */
  knowsModel(call: OpenCall, model: string): boolean
  /** A single call that costs more is booked and flagged; `null` or left out: none is. */
  readonly alertAbovePico?: bigint | null
}

/** Prices that calls under way ask for, too. */
export interface QuotingPricing extends Pricing {
  /** As `priceCall`, without a definition: that goes with a record. */
  quoteCall(call: CallToPrice): PricedCall
}

/**
 * A call that used nothing costs nothing, whatever its model would cost. Only for what is known to have
 * used nothing: an answer that was served and reported no figures is unpriced.
 */
export const NOTHING_TO_PRICE: PricedCall = { kind: 'priced', costPico: 0n, priceId: null, definition: null }

/**
 * The prices of `catalog`, as calls ask for them. A price's definition goes with the first record that uses
 * it, so that it reaches Postgres by the ledger's own way.
 */
export function buildPricing(
  catalog: Catalog,
  listedModels: { has(model: string): boolean },
  alertAbovePico: bigint | null = null,
): QuotingPricing {
  const announced = new Set<string>()
  /** Its definition, the first time. */
  function announce(price: Price | undefined): string | null {
    if (price === undefined || announced.has(price.id)) return null
    announced.add(price.id)
    return price.json
  }

  function price(call: CallToPrice, define: (price: Price | undefined) => string | null): PricedCall {
    const priced = catalog.priceCall(call)
    const { reported, beside } = priced
    if (priced.kind === 'unpriced') {
      if (priced.reason === 'nothing_used') return NOTHING_TO_PRICE
      const { tier } = priced
      // Only days that are over are asked for what is known of them.
      const reason = priced.reason === 'unknown_day' ? 'no_price' : priced.reason
      return {
        kind: 'unpriced',
        reason,
        priceId: tier?.id ?? null,
        definition: define(tier),
        reported,
        beside,
      }
    }
    const { costPico, priceId, price: found } = priced
    return {
      kind: 'priced',
      costPico,
      priceId,
      definition: define(found),
      isPartly: isPartly(found),
      reported,
      beside,
    }
  }

  return {
    alertAbovePico,
    priceCall: (call) => price(call, announce),
    quoteCall: (call) => price(call, () => null),
    knowsModel: (call, model) =>
      listedModels.has(model) ||
      catalog.knowsModel(call.provider, call.upstream, model, call.arrivedAtMs) ||
      catalog.listsModel(model, call.arrivedAtMs),
  }
}
