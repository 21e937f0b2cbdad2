import type { ContractTerms } from '../../pricing/contracts/contract.ts'
import {
  addCosts,
  costsOfLine,
  costsOfListed,
  costsOfWhole,
  type ListedLine,
  listedLine,
  markupIn,
  NO_COSTS,
  type OperatorCosts,
} from '../../pricing/contracts/three-costs.ts'
import type { Price } from '../../pricing/price.ts'
import type { UsageSums } from '../../pricing/price-cost.ts'
import { RATE_CLASSES, type RateClass } from '../../pricing/price-rates.ts'
import { costLinesOf } from '../cost-lines.ts'

/** What calls at one price used, and what clients pay for it; 1e-12 USD. */
export interface BilledUse {
  readonly costPico: bigint
  readonly sums: UsageSums
  /** `null`: there is none, or its definition is not kept. */
  readonly price: Price | null
}

type Prices = ReadonlyMap<string, Price>

/** What the calls of a row of totals cost the operator, or those of several where rates give their cost. */
export function costsOfUse(
  { costPico, sums, price }: BilledUse,
  prices: Prices,
  terms: ContractTerms,
): OperatorCosts {
  const markup = markupIn(price, prices)
  return costLinesOf(costPico, sums, price)
    .map((line) => costsOfLine(line, markup, terms))
    .reduce(addCosts, NO_COSTS)
}

/** What a repricing did to the costs of a row. */
export interface RepricedCosts {
  /** What clients pay more; 1e-12 USD. */
  readonly pico: bigint
  /** `null`: a release made it that did not keep them, so it is taken for a change of the list price. */
  readonly lines: readonly ListedLine[] | null
}

/** Credits and rebuilds change nothing of what the operator pays: they have no lines, and are not asked for. */
export function costsOfRepricing(
  { pico, lines }: RepricedCosts,
  price: Price | null,
  prices: Prices,
  terms: ContractTerms,
): OperatorCosts {
  if (lines === null) return costsOfWhole(pico, markupIn(price, prices), terms)
  return lines.map((line) => costsOfListed(line, terms)).reduce(addCosts, NO_COSTS)
}

/** Lines at list prices, added up by class and price: what one repricing does to a row. */
export class ListedSums {
  readonly #sums = new Map<string, ListedLine>()

  add(lines: readonly ListedLine[], times: 1n | -1n = 1n): void {
    for (const line of lines) {
      const name = `${line.class} ${line.listRatePico}`
      const quantity = (this.#sums.get(name)?.quantity ?? 0n) + times * line.quantity
      if (quantity === 0n) this.#sums.delete(name)
      else this.#sums.set(name, { ...line, quantity })
    }
  }

  /** Replaces the lines of use at one price by those at another. Costs that no rates give have none. */
  replace(before: BilledUse, after: BilledUse): void {
    this.add(listedLinesOf(before), -1n)
    this.add(listedLinesOf(after))
  }

  lines(): readonly ListedLine[] {
    return [...this.#sums.values()]
  }
}

function listedLinesOf({ costPico, sums, price }: BilledUse): readonly ListedLine[] {
  const markup = markupIn(price, new Map())
  return costLinesOf(costPico, sums, price).flatMap((line) => listedLine(line, markup) ?? [])
}

/** As `adjustment_entries` keeps them. */
export type StoredLine = readonly [rateClass: string, listRatePico: string, quantity: string]

export function storedLines(lines: readonly ListedLine[]): readonly StoredLine[] {
  return lines.map(({ class: rate, listRatePico, quantity }) => [rate, `${listRatePico}`, `${quantity}`])
}

/** Classes of a later release are left out: nothing here has a price for them. */
export function linesFrom(stored: readonly StoredLine[]): readonly ListedLine[] {
  return stored.flatMap(([name, listRatePico, quantity]) => {
    const rate = RATE_CLASSES.find((known): known is RateClass => known === name)
    return rate === undefined
      ? []
      : [{ class: rate, listRatePico: BigInt(listRatePico), quantity: BigInt(quantity) }]
  })
}
