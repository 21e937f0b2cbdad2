import type { UtcDay } from '../../domain/utc-day.ts'

/** US dollars for as many as the key of the catalog says; several by hour of the day, as in catalog data. */
export type Prices = Readonly<Record<string, number | Cliff>>

/** The price of all tokens of a prompt with more than `start` of them differs. */
export interface Cliff {
  readonly base: number
  readonly tiers: readonly { readonly start: number; readonly price: number }[]
}

/** The prices of a model that no source has right, or has at all. They stand for all of the model's. */
export interface ModelCorrection {
  /** The catalog's provider. */
  readonly providerId: string
  readonly id: string
  /** The names calls ask for; left out: `id` alone. */
  readonly names?: readonly string[]
  /** The first UTC day on which they hold; left out: since ever. */
  readonly from?: UtcDay
  /** Empty: the name has no price from that day on. */
  readonly prices: Prices | readonly DatedCorrection[]
  /** What the first source says instead; `null`: nothing. When it says as we do, the correction is stale. */
  readonly replaces: Prices | null
  readonly why: string
  /** The provider's page. */
  readonly source: string
  /** The day on which it, or what cites it, was looked at. */
  readonly seen: UtcDay
}

export type DatedCorrection =
  | { readonly prices: Prices }
  | { readonly constraint: { readonly start_date: UtcDay }; readonly prices: Prices }
  | {
      readonly constraint: {
        readonly start_time: string
        readonly end_time: string
        readonly weekdays_only: true
        readonly not_on: 'chinese_holidays'
      }
      readonly prices: Prices
    }
