import { isLinear, type Price } from '../pricing/price.ts'
import { componentsOf } from '../pricing/price-components.ts'
import type { UsageSums } from '../pricing/price-cost.ts'
import type { RateClass } from '../pricing/price-rates.ts'
import { rateShownAs } from '../pricing/shown-prices.ts'

/** One line of what calls cost. */
export interface CostLine {
  /** As the configuration names the price: `cached_input`; `as_reported`, `as_metered`: the whole cost, in one. */
  readonly name: string
  /** The class of the rate; `null`: the whole cost, in one. */
  readonly class: RateClass | null
  readonly quantity: bigint
  /** What the price is for: `M tokens`. */
  readonly unit: string
  /** Integer pico-USD for `unit`; `null`: the calls behind the line had several. */
  readonly unitPico: bigint | null
  readonly amountPico: bigint
}

/**
 * The lines of what a call cost, or many at one price. They add up to the cost to the pico-dollar: where counts do not
 * give it (its upstream said the cost, or several models served a call), one line has all of it.
 *
 * @param costPico As metered; 1e-12 USD.
 * @param price `null`: its definition is not kept.
 */
export function costLinesOf(costPico: bigint, sums: UsageSums, price: Price | null): readonly CostLine[] {
  if (costPico === 0n) return []
  if (price !== null && isLinear(price)) {
    const lines = componentsOf(price, sums)
    if (lines.reduce((sum, { amountPico }) => sum + amountPico, 0n) === costPico)
      return lines.map(({ class: rate, quantity, ratePico, amountPico }) => {
        const { name, unit, times } = rateShownAs(rate)
        return { name, class: rate, quantity, unit, unitPico: ratePico * times, amountPico }
      })
  }
  const name = price?.definition.basis === 'reported' ? 'as_reported' : 'as_metered'
  const quantity = sums.requests
  const unitPico = quantity === 1n ? costPico : null
  return [{ name, class: null, quantity, unit: 'call', unitPico, amountPico: costPico }]
}
