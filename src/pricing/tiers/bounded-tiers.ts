import type { PriceOfCall } from '../catalog/catalog-call.ts'
import { isListedTier } from '../catalog/catalog-service-tiers.ts'
import { buildUnpricedTier } from '../price.ts'

/**
 * More than there are names of tiers beside those with a price; they are the upstream's words, and a client's where it
 * says a size, so there must be an end.
 */
const MAX_TIERS = 100
const MAX_LISTED = 1_000
/** Under which calls stand whose tier is one name too many. */
const OTHER_TIER = '(other)'

/** However many names there were, one that has a price, of ours or of the `operators`, keeps its own. */
export function boundTiers(operators: ReadonlySet<string>): (serviceTier: string | null) => string | null {
  const seen = new Set<string>()
  /** Of these there are only so many; to take one apart for each call costs as much as its price. */
  const listed = new Set<string>()
  return (serviceTier) => {
    if (serviceTier === null || listed.has(serviceTier) || seen.has(serviceTier)) return serviceTier
    if (operators.has(serviceTier) || isListedTier(serviceTier)) {
      if (listed.size < MAX_LISTED) listed.add(serviceTier)
      return serviceTier
    }
    if (seen.size >= MAX_TIERS) return OTHER_TIER
    seen.add(serviceTier)
    return serviceTier
  }
}

/** Calls without a price keep their tier in the identity of what they lack, or they would be priced as standard later. */
export function keepTier(serviceTier: string | null, priced: PriceOfCall): PriceOfCall {
  if (priced.kind === 'priced' || serviceTier === null || priced.reason === 'nothing_used') return priced
  if (priced.tier !== undefined) return priced
  return { ...priced, tier: buildUnpricedTier(serviceTier) }
}
