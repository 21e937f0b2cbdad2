import type { UtcDay } from '../domain/utc-day.ts'
import type { RateClass, Rates } from './price-rates.ts'

/** The sizes of prompt a context tier holds for, in total input tokens of one call: above < tokens <= upTo. */
export interface ContextTier {
  /** 0 for the first tier. */
  readonly above: number
  /** `null`: no upper end. */
  readonly upTo: number | null
}

/**
 * A price that differs from the model's usual one by how a call used it, so that each stays linear.
 * `no-request-fee`: nothing was used, so the fee for a request is not due.
 * `minimum-audio`: shorter than the least that is billed, so that least is the fee of each request.
 * `cache-not-believed`: the calls count more cached tokens than they have, so that none is at a cached price.
 * `reasoning-beside`: the calls count reasoning tokens beside their output, not in it.
 */
export type PriceVariant = (typeof PRICE_VARIANTS)[number]

export const PRICE_VARIANTS = [
  'no-request-fee',
  'minimum-audio',
  'reasoning-beside',
  'cache-not-believed',
] as const

/** A price whose cost is a sum of counts times rates, so that sums of calls can be priced as well as calls. */
export interface LinearDefinition {
  readonly basis: 'linear'
  /** Where the figures come from: `genai-prices@0.1.8`, a catalog file's name and hash, or `yaml`. */
  readonly source: string
  /** The catalog's id of the provider; for `yaml` the provider of the entry, or `*`. */
  readonly provider: string
  /** The catalog's id of the model; for `yaml` the name or `prefix*` of the entry. */
  readonly model: string
  /** The UTC day this price took effect; `null`: no beginning known. */
  readonly from: UtcDay | null
  readonly context: ContextTier | null
  /** The hours of the day (UTC) it holds for, e.g. `00:30-16:30`; `other`: the rest of the day; `null`: all day. */
  readonly hours: string | null
  /** The service tier of the calls, other than standard; `null`: standard. */
  readonly serviceTier: string | null
  /** Whether the rates are those of `serviceTier`; `false`: nothing says what it costs, the rates are standard. */
  readonly serviceTierPriced: boolean
  /** Markup or discount that is already in the rates, as decimal text; `1`: none. */
  readonly factor: string
  readonly variant: PriceVariant | null
  readonly rates: Rates
  /** Classes without a rate that its calls used: their cost is not all of it. At least one; left out: none. */
  readonly unpriced?: readonly RateClass[]
}

/** The upstream's reported cost of each call, taken as it is but for `factor`. */
export interface ReportedDefinition {
  readonly basis: 'reported'
  readonly provider: string
  readonly factor: string
}

/** One call served by several models: each part was priced by its own price. */
export interface PartsDefinition {
  readonly basis: 'parts'
  /** Ids of the parts' prices, each once, sorted; of a call without a cost, those that were found. */
  readonly prices: readonly string[]
  /** Classes that were used and that none of the parts' prices has. At least one; left out: none. */
  readonly unpriced?: readonly RateClass[]
}

/**
 * No price: of calls that have none and were served at another tier than standard, so that they stay apart from those
 * that were not, and can be priced later. What model they used, their totals say.
 */
export interface UnpricedDefinition {
  readonly basis: 'unpriced'
  readonly serviceTier: string
}

export type PriceDefinition = LinearDefinition | ReportedDefinition | PartsDefinition | UnpricedDefinition
