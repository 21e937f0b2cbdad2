import { countsBy } from '../call/usage.ts'
import type { LinearPrice } from './price.ts'
import type { UsageSums } from './price-cost.ts'
import { linearTerms, RATE_CLASSES, type RateClass, type TermName } from './price-rates.ts'

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
  /** Counts that make up its quantity, each with how often it is in it: few of all that there are. */
  readonly parts: readonly (readonly [TermName, bigint])[]
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
  const components: PriceComponent[] = []
  for (const { class: name, ratePico, parts } of lines) {
    let quantity = 0n
    for (const [term, times] of parts) quantity += times * sums[term]
    if (quantity !== 0n) components.push({ class: name, quantity, ratePico, amountPico: quantity * ratePico })
  }
  return components
}

function buildLines({ definition: { rates, variant } }: LinearPrice): readonly Line[] {
  const named = RATE_CLASSES.filter((name) => rates[name] !== undefined)
  return named.map((name) => {
    const alone = countsBy(named, (other) => (other === name ? 1n : 0n))
    const terms = linearTerms(alone, variant === 'reasoning-beside')
    const parts = (Object.keys(terms) as TermName[]).map((term) => [term, terms[term]] as const)
    return { class: name, ratePico: rates[name] ?? 0n, parts: parts.filter(([, times]) => times !== 0n) }
  })
}
