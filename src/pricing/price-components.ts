import { countsBy } from '../call/usage.ts'
import type { LinearPrice } from './price.ts'
import { type CostTerms, costOfSums, type UsageSums } from './price-cost.ts'
import { linearTerms, RATE_CLASSES, type RateClass } from './price-rates.ts'

/** One line of a cost: so many at that rate. */
export interface PriceComponent {
  readonly class: RateClass
  /** As many as are charged at this rate: a token of a more special rate is in that line alone. */
  readonly quantity: bigint
  /** Integer pico-USD for one, markups included. */
  readonly ratePico: bigint
  /** `quantity` times `ratePico`. */
  readonly amountPico: bigint
}

interface Line {
  readonly class: RateClass
  readonly ratePico: bigint
  readonly terms: CostTerms
}

const linesOfPrices = new WeakMap<LinearPrice, readonly Line[]>()

/**
 * The lines of a cost, those that count something. Their amounts add up to `costOfSums` of the same sums to the
 * pico-dollar: a cost is linear in its rates, so what one rate is multiplied by is the cost where it alone is 1.
 */
export function componentsOf(price: LinearPrice, sums: UsageSums): PriceComponent[] {
  let lines = linesOfPrices.get(price)
  if (lines === undefined) {
    lines = buildLines(price)
    linesOfPrices.set(price, lines)
  }
  return lines.flatMap(({ class: name, ratePico, terms }) => {
    const quantity = costOfSums({ terms }, sums)
    return quantity === 0n ? [] : [{ class: name, quantity, ratePico, amountPico: quantity * ratePico }]
  })
}

function buildLines({ definition: { rates, variant } }: LinearPrice): readonly Line[] {
  const named = RATE_CLASSES.filter((name) => rates[name] !== undefined)
  return named.map((name) => {
    const alone = countsBy(named, (other) => (other === name ? 1n : 0n))
    const exact = linearTerms(alone, variant === 'reasoning-beside')
    return { class: name, ratePico: rates[name] ?? 0n, terms: { exact, fast: null } }
  })
}
