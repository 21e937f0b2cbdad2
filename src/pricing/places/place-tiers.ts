import { joinParts, joinPlace } from '#prices/tier-names.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { isPriceOf } from '../corrections/price-page.ts'
import type { TierPrice } from '../corrections/tier-price.ts'
import { PLACE_PRICES } from './place-prices.ts'

/** The place decides what the call costs, and is not known: it is at the price of the usual one. */
export const PLACE_UNKNOWN = 'place_unknown'

const WORDS: ReadonlyMap<string, ReadonlySet<string>> = wordsByProvider()

function wordsByProvider(): Map<string, Set<string>> {
  const words = new Map<string, Set<string>>()
  for (const { providers, tier } of PLACE_PRICES)
    for (const provider of providers) {
      const known = words.get(provider) ?? new Set([PLACE_UNKNOWN])
      words.set(provider, known.add(tier))
    }
  return words
}

/** Whether a part of a tier says where `provider` (one of ours) served the call. */
export function isPlace(provider: string, part: string): boolean {
  return WORDS.get(provider)?.has(part) === true
}

/** Every word that a place has at some provider. */
export const PLACE_WORDS: readonly string[] = [...new Set([...WORDS.values()].flatMap((words) => [...words]))]

/** A tier in the form of `serviceTierOf`, taken apart. `null`: the standard one, the usual place. */
export interface PlacedTier {
  readonly service: string | null
  readonly place: string | null
}

export function splitPlace(provider: string, tier: string | null): PlacedTier {
  const words = tier === null ? undefined : WORDS.get(provider)
  if (tier === null || words === undefined) return { service: tier, place: null }
  const [services, places] = [false, true].map((isOne) =>
    tier.split('+').filter((part) => words.has(part) === isOne),
  )
  return { service: joinParts(services ?? []), place: joinParts(places ?? []) }
}

/**
 * A tier at the place that is known of a call, whatever place was thought before. `place`: a word of the provider's, `''`:
 * the usual place, `null`: nothing is known beyond what the tier says.
 */
export function tierAt(provider: string, tier: string | null, place: string | null): string | null {
  if (place === null) return tier
  if (tier === null) return place === '' ? null : place
  const { service, place: said } = splitPlace(provider, tier)
  const isSaid = said !== null && said !== PLACE_UNKNOWN && place === PLACE_UNKNOWN
  return joinPlace(service, isSaid ? said : place === '' ? null : place)
}

/** What a place costs at a model, and the word that belongs into the identity of its price; `null`: what others do. */
export interface PlacePrice {
  readonly word: string
  /** `null`: it is not known which of several. */
  readonly price: TierPrice | null
}

/**
 * The price of `model` (as the catalog or the call names it) served by `provider` at `place`. `null`: the place makes no
 * difference.
 */
export function placePriceOf(
  provider: string,
  model: string,
  place: string | null,
  day: UtcDay,
): PlacePrice | null {
  if (place === null) return null
  const lower = model.toLowerCase()
  const ofModel = PLACE_PRICES.filter((one) => isPriceOf(one, provider, lower, day))
  if (ofModel.length === 0) return null
  const price = ofModel.find(({ tier }) => tier === place) ?? null
  return { word: price === null ? PLACE_UNKNOWN : place, price }
}
