import { type Decimal, decimalOfText, multiply } from '#prices/decimal.ts'
import { joinPlace } from '#prices/tier-names.ts'
import { isSameModel } from '../../domain/model-name.ts'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { CatalogPlace } from '../../providers/catalog-lists.ts'
import type { BillingRules } from '../billing-rules.ts'
import { type AddedRate, addedRatesFor } from '../corrections/added-rates.ts'
import { MEDIA_PRICES, type MediaPrice } from '../corrections/media-price-list.ts'
import { isPriceOf } from '../corrections/price-page.ts'
import { findOverride, overrideRates } from '../overrides/price-override-match.ts'
import type { PriceOverride } from '../overrides/price-overrides.ts'
import { PLACE_UNKNOWN, placePriceOf, splitPlace } from '../places/place-tiers.ts'
import { isPlaceless } from '../places/usual-names.ts'
import type { Factor } from '../price-markups.ts'
import type { RateClass, Rates } from '../price-rates.ts'
import { byClass } from '../sources/catalog-agreement.ts'
import { type MergedPrices, mergePrices } from '../sources/catalog-merge.ts'
import type { CatalogEntries } from './catalog-entries.ts'
import { buildPriceSet, type PriceSet, USUAL_BILLING_RULES } from './catalog-price-set.ts'
import { answersInOthersWords, catalogPlaces, ownPrices, sellerOf } from './catalog-providers.ts'
import { picoPerOne, ratesAbove, tierStarts, unmeteredKeys } from './catalog-rates.ts'
import { MS_PER_DAY } from './catalog-schedule.ts'
import { atPlace } from './catalog-service-tiers.ts'
import { priceAtPlace, priceOfTier } from './tier-prices.ts'

/** What a price is looked for: all that does not depend on how much was used. */
export interface ResolveQuery {
  /** One of our provider names. */
  readonly provider: string
  /** The upstream's configured name. */
  readonly upstream: string
  /** The name in the response; `null`: it names none. */
  readonly model: string | null
  readonly requestedModel: string | null
  /** In the form of `serviceTierOf`; `null`: standard. */
  readonly serviceTier: string | null
  readonly factor: Factor
  readonly atMs: number
}

/** The prices found, and the time for which they are the answer. */
export interface PriceAnswer {
  /** `null`: no price is known for any of the names. */
  readonly found: FoundPrices | null
  /** Why none was found, where the model has a price: at the standard tier, or now. */
  readonly missing: 'unknown_tier' | 'unknown_day' | null
  readonly fromMs: number
  readonly untilMs: number
}

export interface FoundPrices {
  readonly prices: PriceSet
  /** Which of the names it was. */
  readonly model: string
  /** The line of the configuration it comes from; `null`: from the catalog. */
  readonly line: number | null
  /** The catalog's keys for what we cannot count, so that calls may cost more. */
  readonly unmetered: readonly string[]
}

/** Where prices come from. `overrides` in the order of `byPrecedence`. */
export interface PriceSources {
  readonly entries: CatalogEntries
  readonly overrides: readonly PriceOverride[]
  /**
   * Upstreams whose prices, by the operator's configuration, are those of a provider: one of `PRICES_OF`, by
   * name.
   */
  readonly pricesOf: ReadonlyMap<string, string>
  /** Only prices that are known to have held on the day; as {@link mergePrices} has it. */
  readonly onlyKnown: boolean
}

/** The operator's prices for either name, else the catalog's for the model that answered. */
export function resolvePrices(sources: PriceSources, query: ResolveQuery): PriceAnswer {
  const day = dayOf(query.atMs)
  for (const model of [query.model, query.requestedModel]) {
    const found = model === null ? null : fromOverrides(sources.overrides, query, model)
    if (found !== null) return { found, missing: null, ...day }
  }
  for (const model of namesInCatalog(query)) {
    const answer = fromCatalog(sources, query, model)
    if (answer !== null) return answer
  }
  return { found: null, missing: null, ...day }
}

function dayOf(atMs: number): Pick<PriceAnswer, 'fromMs' | 'untilMs'> {
  const midnightMs = Math.floor(atMs / MS_PER_DAY) * MS_PER_DAY
  return { fromMs: midnightMs, untilMs: midnightMs + MS_PER_DAY }
}

/**
 * The names to look for in the catalog. The requested one is left out where another model answered: a router
 * that chose another model is paid for what it served. It is first where answers have others' words for models, as
 * only the request says by which profile one was served.
 */
function namesInCatalog({ provider, model, requestedModel }: ResolveQuery): string[] {
  if (model === null || model === '') return requestedModel === null ? [] : [requestedModel]
  if (requestedModel === null) return [model]
  if (answersInOthersWords(provider)) return [requestedModel, model]
  return isSameModel(model, requestedModel) ? [model, requestedModel] : [model]
}

function fromOverrides(
  overrides: readonly PriceOverride[],
  { provider, upstream, serviceTier, factor, atMs }: ResolveQuery,
  model: string,
): FoundPrices | null {
  const day = utcDayOf(atMs)
  // A price of the operator's is for every place, unless it names one.
  const { service } = splitPlace(provider, serviceTier)
  const override = findOverride(overrides, {
    provider,
    upstream,
    model,
    serviceTiers: [serviceTier, service],
    day,
  })
  if (override === null) return null
  const tier = override.serviceTier === serviceTier ? serviceTier : service
  const prices = buildPriceSet(
    {
      basis: 'linear',
      source: 'yaml',
      provider: override.provider ?? '*',
      model: override.model,
      from: override.from,
      hours: null,
      serviceTier: tier,
      serviceTierPriced: override.serviceTier === tier,
      factor: factor.text,
    },
    [],
    () => overrideRates(override, factor.value),
    USUAL_BILLING_RULES,
  )
  return { prices, model, line: override.line, unmetered: [] }
}

function fromCatalog(
  { entries, pricesOf, onlyKnown }: PriceSources,
  query: ResolveQuery,
  model: string,
): PriceAnswer | null {
  const { provider: ourProvider, upstream, factor, atMs } = query
  const day = utcDayOf(atMs)
  const { service, place: servedAt } = splitPlace(ourProvider, query.serviceTier)
  const configured = pricesOf.get(upstream) ?? null
  const whose = isPricedThere(ourProvider, model, servedAt, day) ? ownPrices(configured) : configured
  for (const place of catalogPlaces(ourProvider, model, whose)) {
    const media = fromMediaPrices({ ...query, serviceTier: service }, place, whose, model, onlyKnown)
    if (media !== null) return media
    const seller = sellerOf(ourProvider, whose, place.providerId)
    const ours = ({ id }: { readonly id: string }) => ourClasses(addedRatesFor(seller, id, day))
    const merged = mergePrices(entries, place, atMs, ours, onlyKnown)
    if (merged === null) {
      const isNow = onlyKnown && (mergePrices(entries, place, atMs, ours)?.byKey.size ?? 0) > 0
      if (isNow) return { found: null, missing: 'unknown_day', ...dayOf(atMs) }
      continue
    }
    const { fromMs, untilMs } = merged.now
    // Where the name is listed without a price, no other list is asked: it would be another model's.
    if (merged.byKey.size === 0) return null
    const published = priceAtPlace(merged, service, servedAt)
    const tier = published ?? priceOfTier(merged, seller, service, day)
    if (tier === null) return { found: null, missing: 'unknown_tier', fromMs, untilMs }
    const { provider, model: listed, now } = merged
    const added = addedRatesFor(seller, listed.id, day)
    // Of several that a list has under one name, some may be dearer at a place.
    const there =
      published !== null && servedAt !== null
        ? { word: servedAt, price: null }
        : (placePriceOf(seller, listed.id, servedAt, day) ?? placePriceOf(seller, model, servedAt, day))
    const tierFactor = atPlace(tier.factor, there?.price ?? null)
    const prices = buildPriceSet(
      {
        basis: 'linear',
        source: isByRule(tier.byKey, added) ? `${tier.source}+by-rule` : tier.source,
        provider: provider.id,
        model: listed.id,
        from: now.from,
        hours: now.hours,
        serviceTier: joinPlace(service, there?.word ?? (isPlaceless(place) ? PLACE_UNKNOWN : null)),
        serviceTierPriced: true,
        factor: factor.text,
      },
      tierStarts(tier),
      (above) => ratesAbove(tier, above, factor.value, tierFactor, added),
      billingRulesOf(seller, provider.id, listed.id),
      tier.factor.gaps,
    )
    const found = { prices, model, line: null, unmetered: unmeteredKeys(merged) }
    return { found, missing: null, fromMs, untilMs }
  }
  return null
}

/** Whether the list has the price of `model` at `place`, so that a region elsewhere has one. */
function isPricedThere(provider: string, model: string, place: string | null, day: UtcDay): boolean {
  return (placePriceOf(provider, model, place, day)?.price ?? null) !== null
}

function ourClasses(added: readonly AddedRate[]): ReadonlySet<RateClass> {
  return new Set(added.flatMap(({ rate, isRule }) => (isRule === true ? [] : [rate])))
}

/** Whether a class has its price because the maker prices all its models so. */
function isByRule(byKey: MergedPrices['byKey'], added: readonly AddedRate[]): boolean {
  const rules = added.filter(({ isRule }) => isRule === true)
  if (rules.length === 0) return false
  const listed = byClass(byKey)
  return listed.has('input') && rules.some(({ rate }) => !listed.has(rate))
}

/** What our own list has for models that are billed by other than tokens: a day's answer. */
function fromMediaPrices(
  { provider: ourProvider, serviceTier, factor, atMs }: ResolveQuery,
  { providerId, name }: CatalogPlace,
  pricesOf: string | null,
  model: string,
  onlyKnown: boolean,
): PriceAnswer | null {
  const seller = sellerOf(ourProvider, pricesOf, providerId)
  const price = findMediaPrice(seller, name, serviceTier, utcDayOf(atMs))
  if (price === null) return null
  const day = dayOf(atMs)
  if (price === 'unknown_tier') return { found: null, missing: price, ...day }
  const isKnown = price.from !== undefined || price.seen <= utcDayOf(atMs)
  if (onlyKnown && !isKnown) return { found: null, missing: 'unknown_day', ...day }
  const prices = buildPriceSet(
    {
      basis: 'linear',
      source: `${MEDIA_PRICES_SOURCE}@${price.seen}`,
      provider: seller,
      model: name.toLowerCase(),
      from: price.from ?? null,
      hours: null,
      serviceTier,
      serviceTierPriced: true,
      factor: factor.text,
    },
    [],
    () => mediaRates(price, factor.value),
    USUAL_BILLING_RULES,
  )
  return { found: { prices, model, line: null, unmetered: [] }, missing: null, ...day }
}

/** Whose audio and image tokens never cost what text does, so that a missing price of theirs is a gap. */
const MEDIA_APART: ReadonlySet<string> = new Set(['openai', 'azure', 'cohere'])

/**
 * What the catalog's data has no field for. Groq bills transcriptions for at least ten seconds
 * (https://groq.com/pricing; the package has the same rule in its code). Perplexity's deep research reports reasoning
 * tokens on top of `completion_tokens` (https://docs.perplexity.ai/getting-started/pricing). Vercel's gateway bills
 * reasoning of OpenAI's models on top of the output that has it already (11 of 11 recorded answers that name their cost).
 */
function billingRulesOf(seller: string, providerId: string, modelId: string): BillingRules {
  const isOfOpenAi = providerId === 'openai' || (providerId === 'vercel' && modelId.startsWith('openai/'))
  if (seller === 'vercel-gateway' && isOfOpenAi) {
    return { ...USUAL_BILLING_RULES, mediaIsApart: true, reasoningIsBeside: true }
  }
  if (providerId === 'groq' && modelId.startsWith('whisper-large-v3')) {
    return { ...USUAL_BILLING_RULES, minimumAudioMs: 10_000 }
  }
  if (providerId === 'perplexity') return { ...USUAL_BILLING_RULES, reasoningIsBeside: true }
  if (MEDIA_APART.has(providerId)) return { ...USUAL_BILLING_RULES, mediaIsApart: true }
  if (providerId === 'mistral') return { ...USUAL_BILLING_RULES, secondsAreBeside: true }
  return USUAL_BILLING_RULES
}

/** Names the list that a price of {@link MEDIA_PRICES} comes from, in its definition. */
export const MEDIA_PRICES_SOURCE = 'tallygate-media'

/**
 * The price of a model that is billed by other than tokens, or in part: `seller` one of our providers, `name` as it
 * is called there.
 * @returns `null`: it is not listed. `'unknown_tier'`: it is, but not at this tier.
 */
export function findMediaPrice(
  seller: string,
  name: string,
  serviceTier: string | null,
  day: UtcDay,
): MediaPrice | 'unknown_tier' | null {
  const lower = name.toLowerCase()
  const listed = MEDIA_PRICES.filter((price) => isPriceOf(price, seller, lower, day))
  if (listed.length === 0) return null
  return listed.find(({ tier }) => (tier ?? null) === serviceTier) ?? 'unknown_tier'
}

/** The price's rates in integer pico-USD, the factor in before the rounding. */
function mediaRates({ rates }: MediaPrice, factor: Decimal): Rates {
  const pico: Partial<Record<RateClass, bigint>> = {}
  for (const { rate, usd, per } of rates) pico[rate] = picoPerOne(multiply(decimalOfText(usd), factor), per)
  return pico
}
