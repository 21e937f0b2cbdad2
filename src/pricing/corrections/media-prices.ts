import { type Decimal, decimalOfText, multiply } from '#prices/decimal.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { picoPerOne } from '../catalog/catalog-rates.ts'
import type { RateClass, Rates } from '../price-rates.ts'
import { MEDIA_PRICES, type MediaPrice } from './media-price-list.ts'

/** Names the list that a price of {@link MEDIA_PRICES} comes from, in its definition. */
export const MEDIA_PRICES_SOURCE = 'tallygate-media'

/**
 * The price of a model that is billed by other than tokens, or in part: `seller` one of our providers, `name` as it
 * is called there.
 * @returns `null`: it is not listed. `'unknown_tier'`: it is, but not at this tier.
 */
export function findMediaPrice(
  seller: string,
  name: string,
  serviceTier: string | null,
  day: UtcDay,
): MediaPrice | 'unknown_tier' | null {
  const lower = name.toLowerCase()
  const listed = MEDIA_PRICES.filter(
    ({ providers, models, from }) =>
      providers.includes(seller) && (from === undefined || from <= day) && models.test(lower),
  )
  if (listed.length === 0) return null
  return listed.find(({ tier }) => (tier ?? null) === serviceTier) ?? 'unknown_tier'
}

/** The price's rates in integer pico-USD, the factor in before the rounding. */
export function mediaRates({ rates }: MediaPrice, factor: Decimal): Rates {
  const pico: Partial<Record<RateClass, bigint>> = {}
  for (const { rate, usd, per } of rates) pico[rate] = picoPerOne(multiply(decimalOfText(usd), factor), per)
  return pico
}
