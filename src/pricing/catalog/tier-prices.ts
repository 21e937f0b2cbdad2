import { joinPlace } from '#prices/tier-names.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { RateClass } from '../price-rates.ts'
import { byClass, wholeTier } from '../sources/catalog-agreement.ts'
import type { MergedPrices, TierListing } from '../sources/catalog-merge.ts'
import type { CatalogRate } from './catalog-entries.ts'
import { isKeyOfAny, rateOfKey } from './catalog-rates.ts'
import { combineFactors, LIST_PRICE, serviceTierFactor, type TierFactor } from './catalog-service-tiers.ts'

/** A model's prices at a service tier: what is listed, and by how much each class of it is multiplied. */
export interface PricesOfTier extends TierListing {
  readonly factor: TierFactor
}

/**
 * The prices at a tier that the model's source lists; for classes that it does not list, and where it lists none, the
 * list price and our factor; else what another source lists whole. `null`: not known, for all or a part of the tier.
 */
export function priceOfTier(
  merged: MergedPrices,
  seller: string,
  serviceTier: string | null,
  day: UtcDay,
): PricesOfTier | null {
  if (serviceTier === null) return { source: merged.source, byKey: merged.byKey, factor: LIST_PRICE }
  const parts = serviceTier.split('+')
  const factorOf = (tier: readonly string[]) =>
    tier.length === 0 ? LIST_PRICE : serviceTierFactor(seller, merged.model.id, tier.join('+'), day)
  const listedBy = (who: 'first' | 'others'): PricesOfTier | null => {
    for (const part of parts) {
      const listing = merged.findTier(part, who)
      const rest = listing === null ? null : factorOf(parts.filter((other) => other !== part))
      if (listing === null || rest === null) continue
      const own = who === 'first' ? factorOf([part]) : null
      const prices = own === null ? whole(merged, listing, rest) : filled(merged, listing, own, rest)
      if (prices !== null) return prices
    }
    return null
  }
  const first = listedBy('first')
  if (first !== null) return first
  const factor = factorOf(parts)
  if (factor !== null) return { source: merged.source, byKey: merged.byKey, factor }
  return listedBy('others')
}

/** What the model's source itself lists for a service tier at a place. `null`: nothing, or not all of it. */
export function priceAtPlace(
  merged: MergedPrices,
  serviceTier: string | null,
  place: string | null,
): PricesOfTier | null {
  const tier = joinPlace(serviceTier, place)
  const listing = place === null || tier === null ? null : merged.findTier(tier, 'first')
  return listing === null ? null : whole(merged, listing, LIST_PRICE)
}

function whole(merged: MergedPrices, { source, byKey }: TierListing, rest: TierFactor): PricesOfTier | null {
  const prices = wholeTier(merged.byKey, byKey)
  return prices === null ? null : { source, byKey: prices, factor: rest }
}

/** What is listed, and the list price times the factor for every other class. */
function filled(
  { byKey: standard }: MergedPrices,
  { source, byKey: listed }: TierListing,
  own: TierFactor,
  rest: TierFactor,
): PricesOfTier {
  const usual = byClass(standard)
  const said = new Map([...listed].filter(([key, rate]) => hasSizesOf(usual, key, rate)))
  const classes = new Set<RateClass>([...byClass(said).keys()])
  const byKey = new Map([...standard].filter(([key]) => !isKeyOfAny(classes, key)))
  for (const [key, rate] of said) byKey.set(key, rate)
  const both = combineFactors([own, rest])
  return {
    source,
    byKey,
    factor: {
      of: (rate, above) => (classes.has(rate) ? rest : both).of(rate, above),
      ofUnit: (rate) => (classes.has(rate) ? rest : both).ofUnit(rate),
      fees: both.fees.filter(([rate]) => !classes.has(rate)),
      gaps: rest.gaps,
    },
  }
}

/** Without the sizes of prompt that the standard price has, its price for large ones is not known. */
function hasSizesOf(usual: ReturnType<typeof byClass>, key: string, { tiers }: CatalogRate): boolean {
  const name = rateOfKey(key)
  const sizes = name === null ? [] : (usual.get(name)?.tiers ?? [])
  return name !== null && sizes.every(({ above }) => tiers.some((size) => size.above === above))
}
