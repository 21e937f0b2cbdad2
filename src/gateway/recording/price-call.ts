import type { Catalog } from '../../pricing/catalog/catalog.ts'
import type { CallToPrice } from '../../pricing/catalog/catalog-call.ts'
import { isPartly, type Price } from '../../pricing/price.ts'
import { NOTHING_TO_PRICE, type PricedCall, type QuotingPricing } from './pricing.ts'

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
    const { reported } = priced
    if (priced.kind === 'unpriced') {
      if (priced.reason === 'nothing_used') return NOTHING_TO_PRICE
      const { reason, tier } = priced
      return { kind: 'unpriced', reason, priceId: tier?.id ?? null, definition: define(tier), reported }
    }
    const { costPico, priceId, price: found } = priced
    return {
      kind: 'priced',
      costPico,
      priceId,
      definition: define(found),
      isPartly: isPartly(found),
      reported,
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
