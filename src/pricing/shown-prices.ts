import { TOKEN_FIELDS, UNIT_DIMENSIONS } from '../call/usage.ts'
import { picoToUsdText } from '../domain/pico-usd.ts'
import type { UtcDay } from '../domain/utc-day.ts'
import type { Catalog } from './catalog/catalog.ts'
import { serviceTiersAt } from './catalog/catalog-service-tiers.ts'
import type { LinearPrice } from './price.ts'
import type { PricedUpstream, PriceSettings } from './price-configuration.ts'
import { RATE_CLASSES, type RateClass } from './price-rates.ts'

/** What prices are shown from. */
export interface ShownFrom {
  readonly catalog: Catalog
  readonly settings: Pick<PriceSettings, 'prices'>
  readonly upstreams: readonly PricedUpstream[]
}

export interface ShownPriceQuery {
  readonly model: string
  /** `null`: at every upstream. */
  readonly provider: string | null
  /** Whose markups are in; `null`: only those of upstreams. */
  readonly clientName: string | null
  readonly day: UtcDay
  /** Days before it are over, and have only prices that are known to have held then. */
  readonly today: UtcDay
}

/** The upstreams of the configuration, or one that only stands for a provider. */
export function pricedPlaces(
  upstreams: readonly PricedUpstream[],
  provider: string | null,
): readonly PricedUpstream[] {
  const fitting = upstreams.filter((upstream) => provider === null || upstream.provider === provider)
  if (fitting.length > 0) return fitting
  return [{ name: '', provider: provider ?? 'openai-compatible', pricesOf: null, trustReportedCost: false }]
}

export interface ShownPrice {
  readonly place: PricedUpstream
  readonly price: LinearPrice
  /** Line of the configuration, or number of its entry; `null`: from the catalog. */
  readonly line: number | null
  readonly unmetered: readonly string[]
}

/** All prices of a model: at each upstream, at the standard tier and at those that have a price. Empty: it has none. */
export function findShownPrices(from: ShownFrom, query: ShownPriceQuery): readonly ShownPrice[] {
  const { catalog, upstreams } = from
  const of = { ...from, catalog: query.day < query.today ? catalog.ofPast() : catalog }
  return pricedPlaces(upstreams, query.provider).flatMap((place) => pricesAt(of, place, query))
}

function pricesAt(
  { catalog, settings }: ShownFrom,
  place: PricedUpstream,
  { model, clientName, day }: ShownPriceQuery,
): ShownPrice[] {
  const named = settings.prices.flatMap(({ service_tier: tier }) => (tier === undefined ? [] : [`${tier}`]))
  const tiers = [null, ...new Set([...serviceTiersAt(place.pricesOf ?? place.provider), ...named])]
  const shown = new Map<string, ShownPrice>()
  for (const tier of tiers) {
    const answers = catalog.findPricesOfDay({
      provider: place.provider,
      upstream: place.name,
      clientName,
      model,
      serviceTier: tier,
      atMs: Date.parse(`${day}T00:00:00Z`),
    })
    for (const { found } of answers) {
      for (const { usual } of found?.prices.tiers ?? []) {
        const isOwn = tier === null || usual.definition.serviceTierPriced
        if (found === null || !isOwn) continue
        shown.set(usual.id, { place, price: usual, line: found.line, unmetered: found.unmetered })
      }
    }
  }
  return [...shown.values()]
}

/** As people write prices: for a million tokens, a request, an hour of audio, a million of anything else. */
const PER: ReadonlyMap<RateClass, { readonly name: string; readonly times: bigint; readonly unit: string }> =
  new Map([
    ...TOKEN_FIELDS.map(({ field, rate }) => perOf(rate, field, 1_000_000n, 'M tokens')),
    perOf('request', 'per_request', 1n, 'request'),
    ...UNIT_DIMENSIONS.map(({ field, rate, per, perText }) => perOf(rate, field, per, perText)),
  ])

function perOf(rate: RateClass, name: string, times: bigint, unit: string) {
  return [rate, { name, times, unit }] as const
}

/** How people write a class of rates, and for how many. */
export function rateShownAs(rateClass: RateClass): {
  readonly name: string
  readonly times: bigint
  readonly unit: string
} {
  const per = PER.get(rateClass)
  if (per === undefined) throw new Error(`no such class of rates: ${rateClass}`)
  return per
}

/** Its rates by the names that the configuration has for them. */
export function shownRates({ definition: { rates } }: LinearPrice) {
  return RATE_CLASSES.flatMap((rateClass) => {
    const pico = rates[rateClass]
    if (pico === undefined) return []
    const { name, unit, times } = rateShownAs(rateClass)
    return [{ name, unit, usd: picoToUsdText(pico * times) }]
  })
}

/**
 * It as JSON, the same on the command line and over HTTP.
 *
 * @param hasLines Whether its line is one of a file that the reader has.
 */
export function renderShownPrice({ place, price, line, unmetered }: ShownPrice, hasLines: boolean) {
  const { definition } = price
  return {
    upstream: place.name === '' ? null : place.name,
    provider: place.provider,
    price_id: price.id,
    source: definition.source,
    line: hasLines ? line : null,
    catalog_provider: definition.provider,
    catalog_model: definition.model,
    from: definition.from,
    hours: definition.hours,
    service_tier: definition.serviceTier,
    context:
      definition.context === null
        ? null
        : { above: definition.context.above, up_to: definition.context.upTo },
    factor: definition.factor,
    /** USD as decimal text, for as many as the fields of `prices` in the configuration are for. */
    rates: Object.fromEntries(shownRates(price).map(({ name, usd }) => [name, usd])),
    unmetered,
  }
}
