import type { NameRule } from './catalog-match.ts'
import type { Decimal } from './decimal.ts'
import type { UtcDay } from './utc-day.ts'

/** Price data of many providers, from one source. */
export interface CatalogEntries {
  /** Names the data and its version, e.g. `genai-prices@0.1.8`. */
  readonly source: string
  readonly providers: ReadonlyMap<string, CatalogProvider>
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
}

export interface DatedPrices {
  readonly constraint: PriceConstraint | null
  readonly byKey: ReadonlyMap<string, CatalogRate>
}

export type PriceConstraint =
  | { readonly kind: 'from'; readonly day: UtcDay }
  /** Milliseconds since midnight UTC, the end excluded; over midnight where it ends before it starts. */
  | { readonly kind: 'hours'; readonly startMs: number; readonly endMs: number }

/** US dollars for as many of a unit as the key says; more above some sizes of prompt. */
export interface CatalogRate {
  readonly base: Decimal
  /** By rising `above`: from more than `above` input tokens on, all of the call is at this price. */
  readonly tiers: readonly { readonly above: number; readonly price: Decimal }[]
}

/**
 * The first model whose rule takes `name`, here or at the providers this one falls back to. Where none does, the
 * name is tried again with a compact date in it spelled out (`-20250514` as `-2025-05-14`).
 */
export function findCatalogModel(
  entries: CatalogEntries,
  providerId: string,
  name: string,
): { readonly provider: CatalogProvider; readonly model: CatalogModel } | null {
  const provider = entries.providers.get(providerId)
  if (provider === undefined) return null
  const lower = name.toLowerCase().trim()
  const dashed = lower.replace(COMPACT_DATE, '-$1-$2-$3')
  for (const spelling of dashed === lower ? [lower] : [lower, dashed]) {
    for (const candidate of [provider, ...fallbacks(entries, provider)]) {
      const model = candidate.models.find(({ matches }) => matches(spelling))
      if (model !== undefined) return { provider: candidate, model }
    }
  }
  return null
}

const COMPACT_DATE = /-(20[0-9]{2})(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(?=-|:|$)/g

function fallbacks(entries: CatalogEntries, provider: CatalogProvider): CatalogProvider[] {
  return provider.fallbackProviders.flatMap((id) => entries.providers.get(id) ?? [])
}
