import { fitsPattern } from '../../domain/model-name.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { buildCatalog, type Catalog } from '../catalog/catalog.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { parseOverrides, type WrittenEntry } from '../overrides/price-overrides-parse.ts'
import type { UpstreamPlace } from '../places/upstream-places.ts'
import { parseMarkups } from '../price-markups.ts'

/** The operator's own prices, as the rule of a repricing keeps them beside its catalog. */
export interface RepricingSettings {
  readonly prices: readonly WrittenEntry[]
  readonly markups: readonly WrittenEntry[]
  /** The names of the upstreams there were. */
  readonly upstreams: readonly string[]
  /** Upstreams with a provider's prices, by name; absent in rules of releases that did not have them. */
  readonly pricesOf?: Readonly<Record<string, string>>
  /** Where upstreams serve, by name; absent in rules of releases that did not ask. */
  readonly places?: Readonly<Record<string, UpstreamPlace>>
}

/** Settings as they are compared and kept: lines of a file that may have changed since mean nothing. */
export function settingsOf(
  prices: readonly WrittenEntry[],
  markups: readonly WrittenEntry[],
  upstreams: readonly string[],
  pricesOf: ReadonlyMap<string, string> = new Map(),
  places: ReadonlyMap<string, UpstreamPlace> = new Map(),
): RepricingSettings {
  const numbered = (entry: WrittenEntry, index: number) => ({ ...entry, line: index + 1 })
  return {
    prices: prices.map(numbered),
    markups: markups.map(numbered),
    upstreams: [...upstreams].sort(),
    ...(pricesOf.size === 0 ? {} : { pricesOf: Object.fromEntries([...pricesOf].sort()) }),
    ...(places.size === 0 ? {} : { places: Object.fromEntries([...places].sort()) }),
  }
}

/**
 * The catalog that a rule prices by. No record has an upstream's reported cost, so none is trusted here.
 *
 * @throws {Error} when the settings are not those of a rule.
 */
export function buildRuleCatalog(entries: CatalogEntries, settings: RepricingSettings): Catalog {
  const { overrides, problems } = parseOverrides(settings.prices, settings.upstreams)
  const { markups, problems: markupProblems } = parseMarkups(settings.markups, settings.upstreams)
  const first = [...problems, ...markupProblems][0]
  if (first !== undefined) throw new Error(`the prices of a repricing cannot be read: ${first.what}`)
  return buildCatalog({
    entries,
    overrides,
    markups,
    pricesOf: new Map(Object.entries(settings.pricesOf ?? {})),
    places: new Map(Object.entries(settings.places ?? {})),
  })
}

/** Which calls a repricing is about. */
export interface RepricingScope {
  /** The name that calls are totalled under, or the beginning of names and a `*`. */
  readonly model: string
  /** `null`: any. */
  readonly provider: string | null
  readonly since: UtcDay
}

/** Whether a call's totals are in the scope. */
export function isInScope(
  scope: RepricingScope,
  totals: { readonly model: string; readonly provider: string; readonly day: UtcDay },
): boolean {
  const { model, provider, since } = scope
  if (totals.day < since || (provider !== null && totals.provider !== provider)) return false
  return fitsPattern(model, totals.model)
}
