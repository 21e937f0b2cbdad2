import type { Decimal } from './decimal.ts'
import type { Rates } from './price-rates.ts'
import type { UtcDay } from './utc-day.ts'

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
 * What the fields are the price of: a million of it, but for requests and hours of audio.
 * `per`: of what we count, as many as the figure is the price of. `partOf`: what
 * these are counted in, so that this field means nothing without that one.
 */
export const OVERRIDE_FIELDS = [
  { field: 'input', rate: 'input', per: 1_000_000n, partOf: null },
  { field: 'cached_input', rate: 'cacheRead', per: 1_000_000n, partOf: 'input' },
  { field: 'cache_write', rate: 'cacheWrite', per: 1_000_000n, partOf: 'input' },
  { field: 'cache_write_1h', rate: 'cacheWrite1h', per: 1_000_000n, partOf: 'input' },
  { field: 'audio_input', rate: 'audioInput', per: 1_000_000n, partOf: 'input' },
  { field: 'cached_audio_input', rate: 'cacheReadAudio', per: 1_000_000n, partOf: 'input' },
  { field: 'image_input', rate: 'imageInput', per: 1_000_000n, partOf: 'input' },
  { field: 'output', rate: 'output', per: 1_000_000n, partOf: null },
  { field: 'reasoning', rate: 'reasoning', per: 1_000_000n, partOf: 'output' },
  { field: 'audio_output', rate: 'audioOutput', per: 1_000_000n, partOf: 'output' },
  { field: 'image_output', rate: 'imageOutput', per: 1_000_000n, partOf: 'output' },
  { field: 'per_request', rate: 'request', per: 1n, partOf: null },
  { field: 'web_search', rate: 'webSearch', per: 1_000_000n, partOf: null },
  { field: 'search_unit', rate: 'searchUnit', per: 1_000_000n, partOf: null },
  { field: 'image', rate: 'image', per: 1_000_000n, partOf: null },
  { field: 'audio_hour', rate: 'audioMs', per: 3_600_000n, partOf: null },
  { field: 'character', rate: 'character', per: 1_000_000n, partOf: null },
  { field: 'page', rate: 'page', per: 1_000_000n, partOf: null },
] as const satisfies readonly {
  readonly field: string
  readonly rate: keyof Rates
  readonly per: bigint
  readonly partOf: string | null
}[]
