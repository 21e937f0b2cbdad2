import type { UsagePart } from '../../call/observation.ts'
import { NO_UNITS, NO_USAGE } from '../../call/usage.ts'
import { findEntry } from '../../providers/registry.ts'
import { byPrecedence } from '../overrides/price-override-match.ts'
import type { PriceOverride } from '../overrides/price-overrides.ts'
import { tierAt } from '../places/place-tiers.ts'
import { placeOfCall, type UpstreamPlace } from '../places/upstream-places.ts'
import { buildReportedPrice, buildUnpricedTier, type FixedPrice } from '../price.ts'
import { type Factor, findFactors, NO_FACTOR, type PriceMarkup } from '../price-markups.ts'
import { bundledCatalog } from '../sources/catalog-sources.ts'
import { CatalogCache, isWithin } from './catalog-cache.ts'
import type { BesideReported, CallToPrice, PriceOfCall } from './catalog-call.ts'
import {
  addUp,
  dearestOf,
  hasUse,
  type PartCost,
  priceUse,
  restOfUnits,
  takeReported,
  type Use,
} from './catalog-cost.ts'
import type { CatalogEntries } from './catalog-entries.ts'
import { type FoundPrices, type PriceAnswer, type PriceSources, resolvePrices } from './catalog-resolve.ts'
import { MS_PER_DAY } from './catalog-schedule.ts'
import { isListedTier, serviceTierOf } from './catalog-service-tiers.ts'

export interface CatalogOptions {
  /** Default: the data that came with this release. */
  readonly entries?: CatalogEntries
  readonly overrides?: readonly PriceOverride[]
  readonly markups?: readonly PriceMarkup[]
  /** Names of upstreams whose reported cost of a call is taken, where they give one. */
  readonly trustedUpstreams?: readonly string[]
  /** Upstreams that have a provider's prices, one of `PRICES_OF`, by name. */
  readonly pricesOf?: ReadonlyMap<string, string>
  /** Where upstreams serve, by name. */
  readonly places?: ReadonlyMap<string, UpstreamPlace>
  /** For days that are over: a price of the catalog counts only where it is known to have held then. */
  readonly onlyKnown?: boolean
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
  /** The same for days that are over: what is listed without a day holds since it was first seen. */
  ofPast(): Catalog
  /** Whether some maker lists a model of this name, so that a client did not make it up. */
  listsModel(model: string, atMs: number): boolean
  /** Whether calls of a model have a price, for any client; without `serviceTier` at the standard one. */
  knowsModel(
    provider: string,
    upstream: string,
    model: string,
    atMs: number,
    serviceTier?: string | null,
  ): boolean
}

/** Stands for an upstream that sells every maker's models; no upstream can have this name. */
const ANY_MAKER = '*'

/** Ten times the models that a busy gateway sees; names are input, so there must be an end. */
const CACHED_QUERIES = 5_000

export function buildCatalog(options: CatalogOptions = {}): Catalog {
  const entries = options.entries ?? bundledCatalog()
  const sources: PriceSources = {
    entries,
    overrides: byPrecedence(options.overrides ?? []),
    pricesOf: new Map([...(options.pricesOf ?? []), [ANY_MAKER, 'makers']]),
    onlyKnown: options.onlyKnown ?? false,
  }
  const factorOf = findFactors(options.markups ?? [])
  const places: ReadonlyMap<string, UpstreamPlace> = options.places ?? new Map()
  const trusted: ReadonlySet<string> = new Set(options.trustedUpstreams)
  const tiers = boundTiers(new Set(sources.overrides.flatMap(({ serviceTier }) => serviceTier ?? [])))
  // As many as providers in use and factors in the configuration.
  const reportedPrices = new Map<string, FixedPrice>()
  const cache = new CatalogCache<PriceAnswer>(CACHED_QUERIES)
  /** The last answer of each model: to write a query down takes longer than all else of it. */
  const latest = new Map<string | null, LatestAnswer>()
  let past: Catalog | null = null

  function find(call: CallScope, model: string | null, requestedModel: string | null): FoundPrices | null {
    return answer(call, model, requestedModel).found
  }

  function answer(call: CallScope, model: string | null, requestedModel: string | null): PriceAnswer {
    const { provider, upstream, factor, serviceTier, atMs } = call
    const last = latest.get(model)
    if (
      last !== undefined &&
      last.provider === provider &&
      last.upstream === upstream &&
      last.factor === factor &&
      last.serviceTier === serviceTier &&
      last.requestedModel === requestedModel &&
      isWithin(last.answer, atMs)
    )
      return last.answer
    const found = resolved(call, model, requestedModel)
    if (latest.size >= CACHED_QUERIES) latest.clear()
    latest.set(model, { provider, upstream, factor, serviceTier, requestedModel, answer: found })
    return found
  }

  function resolved(call: CallScope, model: string | null, requestedModel: string | null): PriceAnswer {
    const { provider, upstream, factor, serviceTier, atMs } = call
    const query = `${provider}\n${upstream}\n${factor.text}\n${serviceTier}\n${model}\n${requestedModel}`
    return cache.find(query, atMs, () => {
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

  function scopeOf(
    query: Omit<PriceQuery, 'model'>,
    place = placeOfCall(places.get(query.upstream), null),
  ): CallScope {
    const { provider, upstream, clientName, serviceTier, atMs } = query
    return {
      provider,
      upstream,
      factor: factorOf(clientName, upstream, atMs),
      serviceTier: tierIn(provider, serviceTier, place),
      atMs,
    }
  }

  function tierIn(provider: string, serviceTier: string | null, place: string | null): string | null {
    return tiers(tierAt(provider, serviceTierOf(serviceTier), place))
  }

  function reportedPrice(provider: string, { text }: Factor): FixedPrice {
    const key = `${provider}\n${text}`
    const price = reportedPrices.get(key) ?? buildReportedPrice({ basis: 'reported', provider, factor: text })
    reportedPrices.set(key, price)
    return price
  }

  function priceCall(call: CallToPrice): PriceOfCall {
    const { provider, upstream, clientName, serviceTier, arrivedAtMs: atMs } = call
    const scope = scopeOf({ provider, upstream, clientName, serviceTier, atMs }, placeOf(call))
    const own = keepTier(scope.serviceTier, priceParts(call, scope))
    if (scope.factor.value.digits === 0n)
      return { ...own, reported: { ownCostPico: listCost(call, scope), differs: false } }
    if (call.reportedCostPico === null || call.reportedCostPico < 0n) return own
    const said = takeReported(reportedPrice(provider, scope.factor), scope.factor, call.reportedCostPico)
    const isBelieved = trusted.has(upstream) && (call.reportedCostPico > 0n || mayBeFree(own))
    return { ...(isBelieved ? said : own), reported: compare(own, said.costPico) }
  }

  function placeOf({ place, upstream, requestedModel }: CallToPrice): string | null {
    return place ?? placeOfCall(places.get(upstream), requestedModel)
  }

  /** Of a call that is not charged: what it would have been at list price. */
  function listCost(call: CallToPrice, scope: CallScope): bigint | null {
    const atList = { ...scope, factor: NO_FACTOR }
    const listed = priceParts(call, atList)
    return listed.kind === 'priced' ? listed.costPico : null
  }

  function priceParts(call: CallToPrice, scope: CallScope): PriceOfCall {
    const { parts } = call
    const isCall = findEntry(scope.provider)?.billsCalls === true
    const priceHere = (use: Use, at = scope) =>
      priceUse(answer(at, use.model, use.requestedModel), use, isCall)
    if (parts === null || parts.length === 0) return priceHere(call)
    const costOfPart = (part: UsagePart): PartCost => {
      const costs = [part.model, ...(part.mayBe ?? [])].map((model) => costAs(part, model))
      return { part, cost: dearestOf(costs) }
    }
    const costAs = (part: UsagePart, named: string | null): PartCost['cost'] => {
      const isOwn = named === null || named === call.model
      const model = isOwn ? call.model : named
      const requestedModel = isOwn ? call.requestedModel : null
      const { usage, units = NO_UNITS, prompts } = part
      const use = { model, requestedModel, usage, units, prompts }
      const { provider } = scope
      const at =
        part.serviceTier === undefined
          ? scope
          : { ...scope, serviceTier: tierIn(provider, part.serviceTier, placeOf(call)) }
      return priceHere(use, at)
    }
    // Units that belong to no part are at the price of the model that answered.
    const rest = { model: null, usage: NO_USAGE, units: restOfUnits(call.units, parts) }
    return addUp(parts.map(costOfPart), hasUse(rest) ? costOfPart(rest) : null, call)
  }

  return {
    source: entries.source,
    priceCall,
    findPrices: (query) => find(scopeOf(query), query.model, null),
    findPricesOfDay: answersOfDay,
    ofPast() {
      past ??= buildCatalog({ ...options, entries, onlyKnown: true })
      return past
    },
    listsModel: (model, atMs) => {
      const factor = factorOf(null, ANY_MAKER, atMs)
      const scope = { provider: '', upstream: ANY_MAKER, factor, serviceTier: null, atMs }
      return find(scope, model, null) !== null
    },
    knowsModel: (provider, upstream, model, atMs, serviceTier = null) =>
      find(scopeOf({ provider, upstream, clientName: null, serviceTier, atMs }), model, null) !== null,
  }
}

/**
 * Whether 0 can be true. Where the model has a price and something was counted, it is not: the provider bills it,
 * as with a client's own key.
 */
function mayBeFree(own: PriceOfCall): boolean {
  if (own.kind === 'priced') return own.costPico === 0n
  return own.reason === 'no_price' || own.reason === 'no_model' || own.reason === 'nothing_used'
}

function compare(own: PriceOfCall, saidPico: bigint): BesideReported {
  if (own.kind === 'unpriced') return { ownCostPico: null, differs: false }
  const { costPico } = own
  const difference = costPico > saidPico ? costPico - saidPico : saidPico - costPico
  return { ownCostPico: costPico, differs: difference * 100n >= saidPico && difference > 0n }
}

/** An answer, and what was asked for it beside the model. */
interface LatestAnswer {
  readonly provider: string
  readonly upstream: string
  readonly factor: Factor
  readonly serviceTier: string | null
  readonly requestedModel: string | null
  readonly answer: PriceAnswer
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

/**
 * More than there are names of tiers beside those with a price; they are the upstream's words, and a client's where it
 * says a size, so there must be an end.
 */
const MAX_TIERS = 100
const MAX_LISTED = 1_000
/** Under which calls stand whose tier is one name too many. */
const OTHER_TIER = '(other)'

/** However many names there were, one that has a price, of ours or of the `operators`, keeps its own. */
function boundTiers(operators: ReadonlySet<string>): (serviceTier: string | null) => string | null {
  const seen = new Set<string>()
  /** Of these there are only so many; to take one apart for each call costs as much as its price. */
  const listed = new Set<string>()
  return (serviceTier) => {
    if (serviceTier === null || listed.has(serviceTier) || seen.has(serviceTier)) return serviceTier
    if (operators.has(serviceTier) || isListedTier(serviceTier)) {
      if (listed.size < MAX_LISTED) listed.add(serviceTier)
      return serviceTier
    }
    if (seen.size >= MAX_TIERS) return OTHER_TIER
    seen.add(serviceTier)
    return serviceTier
  }
}

/** Calls without a price keep their tier in the identity of what they lack, or they would be priced as standard later. */
function keepTier(serviceTier: string | null, priced: PriceOfCall): PriceOfCall {
  if (priced.kind === 'priced' || serviceTier === null || priced.reason === 'nothing_used') return priced
  if (priced.tier !== undefined) return priced
  return { ...priced, tier: buildUnpricedTier(serviceTier) }
}
