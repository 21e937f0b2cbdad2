import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { CatalogPlace } from '../../providers/catalog-lists.ts'
import type {
  CatalogEntries,
  CatalogModel,
  CatalogProvider,
  DatedPrices,
} from '../catalog/catalog-entries.ts'
import { type CatalogListing, findListed } from '../catalog/catalog-find.ts'
import { isKeyOfAny } from '../catalog/catalog-rates.ts'
import { isKnownOn, type PricesNow, pricesAt, tierPricesOn } from '../catalog/catalog-schedule.ts'
import type { RateClass } from '../price-rates.ts'
import { agree, agreeOnSmallPrompts, fillable } from './catalog-agreement.ts'
import { isAzures, isCorrections } from './catalog-corrections.ts'

/** What the sources together say of a model at a moment. */
export interface MergedPrices {
  /** The sources it comes from, `+` between them. */
  readonly source: string
  readonly provider: CatalogProvider
  readonly model: CatalogModel
  readonly now: PricesNow
  /** Of the first source, and what others add. */
  readonly byKey: DatedPrices['byKey']
  /** What its first source, and those that agree with it, list of a service tier: the first that lists any of it. */
  findTier(tier: string, who: 'first' | 'others'): TierListing | null
}

/** The classes that a source lists at a service tier. */
export interface TierListing {
  readonly source: string
  readonly byKey: DatedPrices['byKey']
}

interface Pricing extends CatalogListing {
  readonly now: PricesNow
}

/**
 * The prices of a name by precedence of the sources, one source's for all classes that it has: an exact name in any of
 * them before a revision in any, the host's own list before its makers'. Where the first source lists the model in
 * another way and agrees, it keeps the word, so that a price does not change its identity because another source came.
 * Classes that the chosen source lacks are added from those after it that agree with it on all that both have.
 *
 * @param ours Classes that our own data gives the model, and no source adds.
 * @param onlyKnown Only a price that is known to have held then is taken.
 * @returns `null`: no source lists the name. Without keys where one does, and none has a price for it.
 */
export function mergePrices(
  entries: CatalogEntries,
  place: CatalogPlace,
  atMs: number,
  ours: (model: CatalogModel) => ReadonlySet<RateClass>,
  onlyKnown = false,
): MergedPrices | null {
  const day = utcDayOf(atMs)
  const listed = findListed(entries, place).flatMap((found): Pricing[] => {
    const { inForceFrom } = found.model
    const now = inForceFrom !== undefined && day < inForceFrom ? null : pricesOf(found, atMs)
    return now === null ? [] : [{ ...found, now }]
  })
  const known = onlyKnown ? listed.filter((found) => isKnown(found, day)) : listed
  const exact = known.filter(({ fit }) => fit === 'exact')
  const fitting = exact.length > 0 ? exact : known
  // Our own statement that a name has no price is final; a source's only says that it does not know.
  const first = fitting.find(({ layer, now }) => isCorrections(layer) || now.prices.byKey.size > 0)
  const [empty] = fitting
  if (empty === undefined) return null
  if (first === undefined || first.now.prices.byKey.size === 0)
    return build(empty, [], new Set(), entries, day)
  const base = keepFirstSource(first, known, entries)
  const others = listed.filter(
    ({ layer, rank, provider }) => layer !== base.layer && rank === base.rank && provider !== base.provider,
  )
  return build(base, others, ours(base.model), entries, day)
}

/**
 * The prices of a listing at a moment. A host that has its maker's has those of when the list was first seen: a later change
 * of the maker's reaches it with a date of its own, or by a person's word.
 */
function pricesOf({ model, isInherited }: CatalogListing, atMs: number): PricesNow | null {
  const { knownSince, sellsFor } = model
  const now = pricesAt(model, atMs)
  if (isInherited !== true || sellsFor !== undefined || knownSince === undefined) return now
  if (now === null || utcDayOf(atMs) <= knownSince) return now
  const seen = pricesAt(model, Date.parse(knownSince))
  // Hours are those of the day that is asked for.
  if (seen === null || now.hours !== null) return now
  return { ...now, prices: seen.prices, from: seen.from }
}

/** The day whose prices at a tier a listing has on `day`, as {@link pricesOf} has it of the others; not before the tier. */
function dayOfTier({ model, isInherited }: CatalogListing, tier: string, day: UtcDay): UtcDay {
  const { knownSince, sellsFor, variants = [] } = model
  if (isInherited !== true || sellsFor !== undefined || knownSince === undefined) return day
  const days = variants.flatMap((variant) => (variant.tier === tier ? [variant.from ?? ''] : [])).sort()
  const [first = ''] = days
  const since = first > knownSince ? first : knownSince
  return since < day ? since : day
}

/** As {@link isKnownOn}. Of days before a host's list was seen the maker's days say nothing. */
function isKnown({ model, now, isInherited }: Pricing, day: UtcDay): boolean {
  if (isInherited !== true || model.sellsFor !== undefined) return isKnownOn(model, now.prices, day)
  return model.knownSince === undefined || day >= model.knownSince
}

function keepFirstSource(first: Pricing, listed: readonly Pricing[], { providers }: CatalogEntries): Pricing {
  // Azure's own list has its tiers and places, which others only follow.
  if (isCorrections(first.layer) || isAzures(first.layer)) return first
  const word = listed.find(({ layer, now }) => layer.providers === providers && now.prices.byKey.size > 0)
  if (word === undefined || word.layer === first.layer) return first
  return agreeOnSmallPrompts(word.now.prices.byKey, first.now.prices.byKey) ? word : first
}

function build(
  base: Pricing,
  others: readonly Pricing[],
  ours: ReadonlySet<RateClass>,
  { providers }: CatalogEntries,
  day: UtcDay,
): MergedPrices {
  const sources = [base.layer.source]
  const isFirst = isCorrections(base.layer) || base.layer.providers === providers
  // Our own data comes before every source but the first one.
  const byKey = new Map([...base.now.prices.byKey].filter(([key]) => isFirst || !isKeyOfAny(ours, key)))
  const agreeing: Pricing[] = []
  for (const other of others) {
    if (!agree(byKey, other.now.prices.byKey)) continue
    agreeing.push(other)
    const added = fillable(byKey, other.now.prices.byKey, ours)
    if (added.length === 0) continue
    sources.push(other.layer.source)
    for (const [key, rate] of added) byKey.set(key, rate)
  }
  const { provider, model, now } = base
  return {
    source: sources.join('+'),
    provider,
    model,
    now,
    byKey,
    findTier(tier, who) {
      for (const listing of who === 'first' ? [base] : agreeing) {
        const { layer, model: listed } = listing
        const prices = tierPricesOn(listed, tier, dayOfTier(listing, tier, day))
        if (prices !== null)
          return { source: [...new Set([...sources, layer.source])].join('+'), byKey: prices }
      }
      return null
    },
  }
}
