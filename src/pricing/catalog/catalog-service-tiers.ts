import { type Decimal, decimalOfText, multiply, ONE } from '#prices/decimal.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { findEntry } from '../../providers/registry.ts'
import { MEDIA_PRICES } from '../corrections/media-price-list.ts'
import { isPriceOf } from '../corrections/price-page.ts'
import { TIER_PRICES } from '../corrections/service-tiers.ts'
import type { TierPrice } from '../corrections/tier-price.ts'
import { PLACE_PRICES } from '../places/place-prices.ts'
import { PLACE_WORDS } from '../places/place-tiers.ts'
import type { RateClass } from '../price-rates.ts'

/** Words of providers for calls at their list prices, and for tiers they name in several ways. */
const SAME_TIER: ReadonlyMap<string, string> = new Map([
  ['auto', ''],
  ['default', ''],
  ['standard', ''],
  ['standard_only', ''],
  // Groq's and Vertex's word for it.
  ['on_demand', ''],
  ['traffic_type_unspecified', ''],
  ['on_demand_priority', 'priority'],
  ['on_demand_flex', 'flex'],
])

const MAX_TIER_LENGTH = 40

/**
 * The service tier a call was served at, by its whole name in a form that may stand in a price's identity; `null`:
 * standard. Several at once are joined by `+` in the order of the alphabet (`batch+us`).
 */
export function serviceTierOf(reported: string | null): string | null {
  if (reported === null || reported === '' || SAME_TIER.get(reported) === '') return null
  const parts = reported
    .slice(0, 2 * MAX_TIER_LENGTH)
    .toLowerCase()
    .split('+')
    .map((part) => SAME_TIER.get(part.trim()) ?? part.trim().replace(/[^a-z0-9._-]/g, '_'))
    .filter((part) => part !== '')
  return parts.length === 0 ? null : [...new Set(parts)].sort().join('+').slice(0, MAX_TIER_LENGTH)
}

/** Tiers at which a single call may ask to be served: a batch is another interface. */
export const ASKED_TIERS: ReadonlySet<string> = new Set(
  TIER_PRICES.flatMap(({ tier }) => (tier === 'batch' ? [] : [tier])),
)

/**
 * The tier that a request means by a word of its own (`SERVICE_TIER_PRIORITY`, Bedrock's `optimized` latency), in the form
 * of {@link serviceTierOf}; `null`: the usual one, or one that has no price.
 */
export function askedTierOf(word: string): string | null {
  const tier = serviceTierOf(word.replace(/^service_tier_/i, '').replace(/^optimized$/i, 'latency_optimized'))
  return tier !== null && ASKED_TIERS.has(tier) ? tier : null
}

/** What the tokens of a call cost at its tier, against the list prices. */
export interface TierFactor {
  /** @param above Of calls of more input tokens than this. */
  of(rate: RateClass, above: number): Decimal
  /** The same of what is billed by other than tokens: most of that costs the same at every tier. */
  ofUnit(rate: RateClass): Decimal
  /** Fees that are another at this tier: US dollars, as decimal text, for so many. */
  readonly fees: readonly (readonly [RateClass, { readonly usd: string; readonly per: bigint }])[]
  /** Classes whose price at this tier is not known in full; none: it is. */
  readonly gaps: readonly RateClass[]
}

/** Tokens, whatever they cost, cost something else at a tier that no list has the price of. */
const UNSURE: readonly RateClass[] = ['input', 'output']

/** Of calls at the standard tier, and where a source lists the prices of a tier themselves. */
export const LIST_PRICE: TierFactor = { of: () => ONE, ofUnit: () => ONE, fees: [], gaps: [] }

/**
 * The factor for calls at `provider` (one of ours) served by the catalog's `model`; where a tier has several parts,
 * the product of theirs. `null`: not known, for all or a part of the tier.
 */
export function serviceTierFactor(
  provider: string,
  model: string,
  serviceTier: string | null,
  day: UtcDay,
): TierFactor | null {
  if (serviceTier === null) return LIST_PRICE
  const lower = model.toLowerCase()
  const prices = serviceTier.split('+').map((tier) => findTierPrice(provider, lower, tier, day))
  const known = prices.filter((price) => price !== null)
  return known.length < prices.length ? null : combineFactors(known.map(factorOf))
}

function factorOf(price: TierPrice): TierFactor {
  const { units = [], requestsPerThousand, searchesPerThousand } = price
  const factor = decimalOfText(price.factor)
  return {
    of: (rate, above) => factorIn(price, rate, above),
    ofUnit: (rate) => (units.includes(rate) ? factor : ONE),
    fees: [...feeOf('request', requestsPerThousand), ...feeOf('webSearch', searchesPerThousand)],
    gaps: price.isPartly === true ? UNSURE : [],
  }
}

function factorIn(price: TierPrice, rate: RateClass, above: number): Decimal {
  const isExcepted = above < (price.exceptUpTo ?? Number.POSITIVE_INFINITY)
  return decimalOfText((isExcepted ? price.except?.[rate] : undefined) ?? price.factor)
}

/** The product of several, for calls that have all of these tiers. */
export function combineFactors(factors: readonly TierFactor[]): TierFactor {
  return {
    of: (rate, above) => factors.map((one) => one.of(rate, above)).reduce(multiply, ONE),
    ofUnit: (rate) => factors.map((one) => one.ofUnit(rate)).reduce(multiply, ONE),
    fees: factors.flatMap(({ fees }) => fees),
    gaps: [...new Set(factors.flatMap(({ gaps }) => gaps))],
  }
}

/** The same at a place: dearer tokens, and fees as they are. */
export function atPlace(factor: TierFactor, price: TierPrice | null): TierFactor {
  if (price === null) return factor
  return {
    ...factor,
    of: (rate, above) => multiply(factor.of(rate, above), factorIn(price, rate, above)),
  }
}

function feeOf(rate: RateClass, usd: string | undefined): TierFactor['fees'] {
  return usd === undefined ? [] : [[rate, { usd, per: 1_000n }]]
}

function findTierPrice(provider: string, model: string, tier: string, day: UtcDay): TierPrice | null {
  return TIER_PRICES.find((one) => one.tier === tier && isPriceOf(one, provider, model, day)) ?? null
}

const LISTED_TIERS: ReadonlySet<string> = new Set([
  ...[...TIER_PRICES, ...MEDIA_PRICES].flatMap(({ tier }) => (tier === undefined ? [] : [tier])),
  ...PLACE_WORDS,
])
/** Of that many parts, and no more, some model has a tier. */
const MAX_PARTS = 4

/** Whether a tier is made of such as have a price somewhere, of which there are only so many. */
export function isListedTier(serviceTier: string): boolean {
  const parts = serviceTier.split('+')
  return parts.length <= MAX_PARTS && parts.every((part) => LISTED_TIERS.has(part))
}

/** The tiers that some model has at `provider`, as `prices show` asks for them. */
export function serviceTiersAt(provider: string): string[] {
  // What each call's path says no upstream has for all of them.
  const places = findEntry(provider)?.place?.ofPath === undefined ? [] : PLACE_PRICES
  const own = [...TIER_PRICES, ...MEDIA_PRICES, ...places].filter(({ providers }) =>
    providers.includes(provider),
  )
  return [...new Set(own.flatMap(({ tier }) => (tier === undefined ? [] : [tier])))]
}
