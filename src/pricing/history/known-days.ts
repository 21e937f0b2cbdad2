import type { CatalogDocument, ModelDocument } from '#prices/catalog-document.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { FindPrices } from './catalog-past.ts'

/** What is known of the days on which prices were first seen. */
export interface SeenPrices {
  /** The prices of names before. */
  readonly find: FindPrices
  /** Since when the older list is known, where it does not say; `null`: since ever. */
  readonly knownSince: UtcDay | null
  readonly today: UtcDay
}

/**
 * A newer catalog that says since when prices without a day of their own are known: a list since it was first in force here,
 * and a model that had no price before since today.
 */
export function withKnownDays(
  merged: CatalogDocument,
  before: CatalogDocument,
  { find, knownSince, today }: SeenPrices,
): CatalogDocument {
  const older = new Map(before.map((provider) => [provider.id, provider]))
  return merged.map(({ known_since: _, models, ...provider }) => {
    const old = older.get(provider.id)
    const since = old === undefined ? today : (old.known_since ?? knownSince)
    const known = new Map(old?.models.map((model) => [model.id, model]))
    const stamped = models.map((model): ModelDocument => {
      const { known_since: __, ...rest } = model
      const own = known.get(model.id)?.known_since ?? firstSeen(model)
      return own === undefined || own === since ? rest : { ...rest, known_since: own }
    })
    return { ...provider, ...(since === null ? {} : { known_since: since }), models: stamped }
    function firstSeen({ id, prices, moved_since: moved }: ModelDocument): UtcDay | undefined {
      const had = find(provider.id, id)?.some(hasPrices) === true
      return had || moved !== undefined || !prices.some(hasPrices) ? undefined : today
    }
  })
}

function hasPrices({ prices }: ModelDocument['prices'][number]): boolean {
  return Object.keys(prices).length > 0
}
