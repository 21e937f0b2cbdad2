import type { UtcDay } from '../../domain/utc-day.ts'
import type { RateClass } from '../price-rates.ts'

/** A rate that the catalog does not have, or has wrong, for models it has other rates of. */
export interface AddedRate {
  /** Our provider names. */
  readonly providers: readonly string[]
  /** The catalog's ids of the models, in lower case. */
  readonly models: RegExp
  readonly rate: RateClass
  /** US dollars, as decimal text, for so many; or so many times the rate of another class. */
  readonly price:
    | { readonly usd: string; readonly per: bigint }
    | { readonly times: string; readonly of: RateClass }
  /**
   * So the maker prices all its models. Only where no source has a price of the class, and the price's source says
   * `by-rule`.
   */
  readonly isRule?: true
  /** Also where the catalog has one. */
  readonly replaces?: true
  /** The first UTC day; left out: since ever. */
  readonly from?: UtcDay
  /** The page on which the provider publishes it. */
  readonly source: string
  /** The day on which the figure was taken from the price list of LiteLLM 1.109.1 or others', not from that page itself. */
  readonly seen: UtcDay
}
