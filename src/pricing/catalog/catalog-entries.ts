import type { Decimal } from '#prices/decimal.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { NameRule } from './catalog-match.ts'

/** Price data of many providers, from one source or merged from several. */
export interface CatalogEntries {
  /** Names the data and its version, e.g. `genai-prices@0.1.8`; of merged data, all of them. */
  readonly source: string
  /** Of merged data, those of the source that comes first but for our corrections. */
  readonly providers: ReadonlyMap<string, CatalogProvider>
  /** Of merged data: its sources, the one that is asked first at the beginning. */
  readonly layers?: readonly CatalogEntries[]
  /** Of one source, for models that say no day of their own; as `CatalogModel.knownSince`. */
  readonly knownSince?: UtcDay
}

export interface CatalogProvider {
  readonly id: string
  readonly models: readonly CatalogModel[]
  /** Providers whose models are looked through next: this one sells theirs at their prices. */
  readonly fallbackProviders: readonly string[]
}

export interface CatalogModel {
  readonly id: string
  readonly matches: NameRule
  /** The last one in force is the model's price; where none is in force, the first. At least one. */
  readonly prices: readonly DatedPrices[]
  /** The first UTC day on which the source says anything of it; left out: since ever. */
  readonly inForceFrom?: UtcDay
  /**
   * The first UTC day on which what it lists without a day is known to have held: that of the list, or on which the list
   * was first taken here. Left out: since ever.
   */
  readonly knownSince?: UtcDay
  /**
   * The list whose price a host took over, by a person's word: it stands where no source lists the model for the host itself.
   */
  readonly sellsFor?: string
  /** Prices at service tiers, where the source lists them: of each class the first that is in force counts. */
  readonly variants?: readonly TierVariant[]
}

/** The prices of some classes at a service tier. */
export interface TierVariant {
  /** In the form of `serviceTierOf`. */
  readonly tier: string
  /** The first UTC day; `null`: since ever. */
  readonly from: UtcDay | null
  readonly byKey: DatedPrices['byKey']
}

export interface DatedPrices {
  readonly constraint: PriceConstraint | null
  readonly byKey: ReadonlyMap<string, CatalogRate>
}

export type PriceConstraint =
  | { readonly kind: 'from'; readonly day: UtcDay }
  /**
   * Milliseconds since midnight UTC, the end excluded; over midnight where it ends before it starts. `day`: from then
   * on only. `weekdaysOnly`: Monday to Friday, in UTC, but
   * for the days of `notOn`.
   */
  | {
      readonly kind: 'hours'
      readonly startMs: number
      readonly endMs: number
      readonly day?: UtcDay
      readonly weekdaysOnly?: true
      readonly notOn?: 'chinese_holidays'
    }

/** US dollars for as many of a unit as the key says; more above some sizes of prompt. */
export interface CatalogRate {
  readonly base: Decimal
  /** By rising `above`: from more than `above` input tokens on, all of the call is at this price. */
  readonly tiers: readonly { readonly above: number; readonly price: Decimal }[]
}
