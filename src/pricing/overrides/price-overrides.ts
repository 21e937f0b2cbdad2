import type { Decimal } from '#prices/decimal.ts'
import { TOKEN_FIELDS, UNIT_DIMENSIONS } from '../../call/usage.ts'
import type { UtcDay } from '../../domain/utc-day.ts'

/** Which models an entry is for: one by its exact name, or all whose names begin so. */
export type ModelPattern =
  | { readonly kind: 'exact'; readonly name: string }
  | { readonly kind: 'prefix'; readonly prefix: string }

/** A price the operator wrote into the configuration. It stands alone: nothing is added from the catalog. */
export interface PriceOverride {
  /** As written, `llama-3*`. */
  readonly model: string
  readonly pattern: ModelPattern
  /** Only calls at this provider; `null`: any. */
  readonly provider: string | null
  /** Only calls at the upstream of this name; `null`: any. */
  readonly upstream: string | null
  /** Only calls served at this tier; `null`: any that no entry is named for. */
  readonly serviceTier: string | null
  /** The first UTC day it holds for; `null`: since ever. */
  readonly from: UtcDay | null
  /** In US dollars for as many as the field says, exact, before any markup. */
  readonly prices: ReadonlyMap<OverrideField, Decimal>
  /** Where it stands in the file. */
  readonly line: number
}

/** A field that holds a price. */
export type OverrideField = (typeof OVERRIDE_FIELDS)[number]['field']

/**
 * What the fields are the price of: a million of it, but for requests, hours of audio and seconds of video.
 * `per`: of what we count, as many as the figure is the price of. `partOf`: what
 * these are counted in, so that this field means nothing without that one.
 */
export const OVERRIDE_FIELDS = [
  ...TOKEN_FIELDS.map(({ field, rate, partOf }) => ({ field, rate, per: 1_000_000n, partOf })),
  { field: 'per_request', rate: 'request', per: 1n, partOf: null } as const,
  ...UNIT_DIMENSIONS.map(({ field, rate, per }) => ({ field, rate, per, partOf: null })),
]
