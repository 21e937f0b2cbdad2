import { bundledEntries } from './catalog-bundle.ts'
import { CatalogCache } from './catalog-cache.ts'
import type { CallToPrice, PriceOfCall } from './catalog-call.ts'
import { addUp, hasUse, priceUse, takeReported, type Use } from './catalog-cost.ts'
import type { CatalogEntries } from './catalog-entries.ts'
import { type FoundPrices, type PriceAnswer, type PriceSources, resolvePrices } from './catalog-resolve.ts'
import { MS_PER_DAY } from './catalog-schedule.ts'
import { serviceTierOf } from './catalog-service-tiers.ts'
import { buildReportedPrice, type FixedPrice } from './price.ts'
import { type Factor, findFactors, type PriceMarkup } from './price-markups.ts'
import { byPrecedence } from './price-override-match.ts'
import type { PriceOverride } from './price-overrides.ts'
import { NO_UNITS, NO_USAGE } from './usage.ts'

export interface CatalogOptions {
  /** Default: the data of the installed package. */
  readonly entries?: CatalogEntries
  readonly overrides?: readonly PriceOverride[]
  readonly markups?: readonly PriceMarkup[]
  /** Names of upstreams whose own word on the cost of a call is taken, where they give one. */
  readonly trustedUpstreams?: readonly string[]
  /** Upstreams that have somebody's prices, one of `PRICES_OF`, by name. */
  readonly pricesOf?: ReadonlyMap<string, string>
}

/** What a model costs, and since when. */
export interface PriceQuery {
  readonly provider: string
  readonly upstream: string
  readonly clientName: string | null
  readonly model: string
  readonly serviceTier: string | null
  /** Milliseconds since 1970. */
  readonly atMs: number
}

export interface Catalog {
  /** The name and version of the price data under the operator's own prices. */
  readonly source: string
  /** What a call costs and by which price. Never throws, whatever was counted. */
  priceCall(call: CallToPrice): PriceOfCall
  /** All prices of a model at a moment; `null`: it has none. */
  findPrices(query: PriceQuery): FoundPrices | null
  /** The same for each part of the UTC day of `query.atMs`, in order: several where prices change by the hour. */
  findPricesOfDay(query: PriceQuery): readonly PriceAnswer[]
  /** Whether calls of a model have a price, for any client and at the standard tier. */
  knowsModel(provider: string, upstream: string, model: string, atMs: number): boolean
}

/** Ten times the models that a busy gateway sees; names are input, so there must be an end. */
const CACHED_QUESTIONS = 5_000

export function buildCatalog(options: CatalogOptions = {}): Catalog {
  const entries = options.entries ?? bundledEntries()
  const sources: PriceSources = {
    entries,
    overrides: byPrecedence(options.overrides ?? []),
    pricesOf: options.pricesOf ?? new Map(),
  }
  const factorOf = findFactors(options.markups ?? [])
  const trusted: ReadonlySet<string> = new Set(options.trustedUpstreams)
  const namedTiers = new Set(sources.overrides.flatMap(({ serviceTier }) => serviceTier ?? []))
  // As many as providers in use and factors in the configuration.
  const reportedPrices = new Map<string, FixedPrice>()
  const cache = new CatalogCache<PriceAnswer>(CACHED_QUESTIONS)

  function find(call: CallScope, model: string | null, requestedModel: string | null): FoundPrices | null {
    return answer(call, model, requestedModel).found
  }

  function answer(call: CallScope, model: string | null, requestedModel: string | null): PriceAnswer {
    const { provider, upstream, factor, serviceTier, atMs } = call
    const question = `${provider}\n${upstream}\n${factor.text}\n${serviceTier}\n${model}\n${requestedModel}`
    return cache.find(question, atMs, () => {
      return resolvePrices(sources, { provider, upstream, model, requestedModel, serviceTier, factor, atMs })
    })
  }

  function answersOfDay(query: PriceQuery): PriceAnswer[] {
    const midnightMs = Math.floor(query.atMs / MS_PER_DAY) * MS_PER_DAY
    const answers: PriceAnswer[] = []
    for (let atMs = midnightMs; atMs < midnightMs + MS_PER_DAY; ) {
      const part = answer(scopeOf({ ...query, atMs }), query.model, null)
      answers.push(part)
      atMs = part.untilMs
    }
    return answers
  }

  function scopeOf(query: Omit<PriceQuery, 'model'>): CallScope {
    const { provider, upstream, clientName, serviceTier, atMs } = query
    return {
      provider,
      upstream,
      factor: factorOf(clientName, upstream),
      serviceTier: serviceTierOf(serviceTier, namedTiers),
      atMs,
    }
  }

  function reportedPrice(provider: string, { text }: Factor): FixedPrice {
    const key = `${provider}\n${text}`
    const price = reportedPrices.get(key) ?? buildReportedPrice({ basis: 'reported', provider, factor: text })
    reportedPrices.set(key, price)
    return price
  }

  function priceCall(call: CallToPrice): PriceOfCall {
    const { provider, upstream, clientName, serviceTier, arrivedAtMs: atMs, parts } = call
    const scope = scopeOf({ provider, upstream, clientName, serviceTier, atMs })
    const priceHere = (use: Use) => priceUse(find(scope, use.model, use.requestedModel), use)
    if (call.reportedCostPico !== null && call.reportedCostPico >= 0n && trusted.has(upstream)) {
      return takeReported(reportedPrice(provider, scope.factor), scope.factor, call.reportedCostPico)
    }
    if (parts === null || parts.length === 0) return priceHere(call)
    const uses = parts.map(({ model, usage }) => ({ model, requestedModel: null, usage, units: NO_UNITS }))
    // What is not billed by tokens belongs to no part: it is at the price of the model that answered.
    const rest = { ...call, usage: NO_USAGE }
    return addUp([...uses, ...(hasUse(rest) ? [rest] : [])].map(priceHere), call)
  }

  return {
    source: entries.source,
    priceCall,
    findPrices: (query) => find(scopeOf(query), query.model, null),
    findPricesOfDay: answersOfDay,
    knowsModel: (provider, upstream, model, atMs) =>
      find(scopeOf({ provider, upstream, clientName: null, serviceTier: null, atMs }), model, null) !== null,
  }
}

/** What all uses in one call have in common. */
interface CallScope {
  readonly provider: string
  readonly upstream: string
  readonly factor: Factor
  /** In the form of `serviceTierOf`. */
  readonly serviceTier: string | null
  readonly atMs: number
}
