import { type Decimal, decimalOfText, ONE } from '#prices/decimal.ts'
import type { Price } from '../price.ts'
import type { RateClass } from '../price-rates.ts'
import type { ContractTerms } from './contract.ts'

/** What calls cost by public lists, and by the operator's contracts; 1e-12 USD. What clients pay stands beside it. */
export interface OperatorCosts {
  readonly listPico: bigint
  readonly contractedPico: bigint
}

export const NO_COSTS: OperatorCosts = { listPico: 0n, contractedPico: 0n }

export function addCosts(one: OperatorCosts, other: OperatorCosts): OperatorCosts {
  return {
    listPico: one.listPico + other.listPico,
    contractedPico: one.contractedPico + other.contractedPico,
  }
}

/** A line of what clients pay. `class: null`: the whole cost, which no rates give. */
export interface BilledLine {
  readonly class: RateClass | null
  readonly quantity: bigint
  readonly amountPico: bigint
}

/** So many of a class at a list price. Below 0: a correction took some away. */
export interface ListedLine {
  readonly class: RateClass
  readonly quantity: bigint
  /** Integer pico-USD for one. */
  readonly listRatePico: bigint
}

/** A line as its list has it; `null`: no rates give it. The list price is that to the nearest pico-dollar for one. */
export function listedLine(
  { class: rate, quantity, amountPico }: BilledLine,
  markup: Decimal,
): ListedLine | null {
  if (rate === null || quantity === 0n) return null
  return { class: rate, quantity, listRatePico: divided(amountPico / quantity, markup) }
}

/** The contract's price for one, to the nearest pico-dollar. */
export function contractedRate(
  { class: rate, listRatePico }: ListedLine,
  { rates, factor }: ContractTerms,
): bigint {
  return rates[rate] ?? multiplied(listRatePico, factor)
}

/** Linear: the costs of lines that add up to others are the costs of those. */
export function costsOfListed(line: ListedLine, terms: ContractTerms): OperatorCosts {
  const { quantity, listRatePico } = line
  return { listPico: quantity * listRatePico, contractedPico: quantity * contractedRate(line, terms) }
}

/** What a line costs the operator. A whole cost is one amount, to the nearest pico-dollar. */
export function costsOfLine(line: BilledLine, markup: Decimal, terms: ContractTerms): OperatorCosts {
  const listed = listedLine(line, markup)
  return listed === null ? costsOfWhole(line.amountPico, markup, terms) : costsOfListed(listed, terms)
}

export function costsOfWhole(amountPico: bigint, markup: Decimal, terms: ContractTerms): OperatorCosts {
  const listPico = divided(amountPico, markup)
  return { listPico, contractedPico: multiplied(listPico, terms.factor) }
}

/**
 * The markups that are in the costs of a price.
 *
 * @param prices Those that served parts of a call have the same ones.
 */
export function markupIn(price: Price | null, prices: ReadonlyMap<string, Price>): Decimal {
  switch (price?.definition.basis) {
    case 'linear':
    case 'reported':
      return decimalOfText(price.definition.factor)
    case 'parts': {
      const [first = ''] = price.definition.prices
      const part = prices.get(first)
      return part === undefined || part === price ? ONE : markupIn(part, prices)
    }
    default:
      return ONE
  }
}

/** To the nearest integer, halves away from zero. What a markup of 0 made free stays 0. */
function divided(pico: bigint, { digits, scale }: Decimal): bigint {
  return digits === 0n ? pico : rounded(pico * 10n ** BigInt(scale), digits)
}

function multiplied(pico: bigint, { digits, scale }: Decimal): bigint {
  return rounded(pico * digits, 10n ** BigInt(scale))
}

function rounded(numerator: bigint, denominator: bigint): bigint {
  const doubled = 2n * numerator
  return (doubled + (numerator < 0n ? -denominator : denominator)) / (2n * denominator)
}
