import type { Catalog } from '../../pricing/catalog/catalog.ts'
import { isPartly, type Price } from '../../pricing/price.ts'
import { NOTHING_TO_PRICE, type PricedCall, type Pricing } from './pricing.ts'

/**
 * The prices of `catalog`, as calls ask for them. A price's definition goes with the first record that uses
 * it, so that it reaches Postgres by the ledger's own way.
 */
export function buildPricing(
  catalog: Catalog,
  listedModels: { has(model: string): boolean },
  alertAbovePico: bigint | null = null,
): Pricing {
  const announced = new Set<string>()
  /** Its definition, the first time. */
  function announce(price: Price | undefined): string | null {
    if (price === undefined || announced.has(price.id)) return null
    announced.add(price.id)
    return price.json
  }

  return {
    alertAbovePico,
    priceCall(call): PricedCall {
      const priced = catalog.priceCall(call)
      const { reported } = priced
      if (priced.kind === 'unpriced') {
        if (priced.reason === 'nothing_used') return NOTHING_TO_PRICE
        const { reason, tier } = priced
        return { kind: 'unpriced', reason, priceId: tier?.id ?? null, definition: announce(tier), reported }
      }
      const { costPico, priceId, price } = priced
      return {
        kind: 'priced',
        costPico,
        priceId,
        definition: announce(price),
        isPartly: isPartly(price),
        reported,
      }
    },
    knowsModel: (call, model) =>
      listedModels.has(model) ||
      catalog.knowsModel(call.provider, call.upstream, model, call.arrivedAtMs) ||
      catalog.listsModel(model, call.arrivedAtMs),
  }
}
