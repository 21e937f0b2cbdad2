import type { UtcDay } from '../domain/utc-day.ts'
import type { UtcMonth } from '../domain/utc-month.ts'
import type { Price } from '../pricing/price.ts'
import type { CostLine } from '../usage/cost-lines.ts'

/** A line of what was metered: so much of one model's use, at one price. */
export interface StatementLine extends CostLine {
  readonly model: string
  readonly upstream: string
  /** '': its price is not known. */
  readonly priceId: string
  readonly price: Price | null
}

/** What corrected the cost of the month's calls. */
export interface StatementCorrection {
  readonly id: string
  /** `credit`, `reprice` or `rebuild`. */
  readonly kind: string
  readonly at: Date
  readonly why: string
  readonly amountPico: bigint
}

/** What is charged beside calls: what no closed statement has of it yet. */
export interface StatementCharge {
  readonly id: string
  readonly name: string
  readonly category: string
  readonly service: string
  readonly from: UtcDay
  readonly to: UtcDay
  /** Decimal text, and of what; `null`: not said. */
  readonly quantity: string | null
  readonly unit: string | null
  readonly reason: string
  /** Below 0: a credit, or what was taken back since another statement had it. */
  readonly amountPico: bigint
}

/** What an earlier month became dearer by after it was closed. */
export interface StatementCarry {
  readonly month: UtcMonth
  readonly amountPico: bigint
}

export interface UnpricedCalls {
  readonly model: string
  readonly upstream: string
  readonly calls: bigint
  /** Classes that have no price, as the configuration names them; none: the calls have no cost at all. */
  readonly classes: readonly string[]
}

/** What a client owes for a month. */
export interface Statement {
  readonly clientId: string
  readonly client: string
  readonly month: UtcMonth
  readonly requests: bigint
  readonly lines: readonly StatementLine[]
  readonly corrections: readonly StatementCorrection[]
  readonly charges: readonly StatementCharge[]
  readonly carried: readonly StatementCarry[]
  /** Named, not charged. */
  readonly unpriced: readonly UnpricedCalls[]
  /** The sum of lines and corrections: what `GET /v1/usage` says of these days. 1e-12 USD. */
  readonly costPico: bigint
  readonly chargesPico: bigint
  /** With charges, and what is carried over. */
  readonly totalPico: bigint
}

const PICO_PER_CENT = 10_000_000_000n

/** To whole cents, halves away from zero, in pico-USD: the only rounding of a statement. */
export function roundToCents(pico: bigint): bigint {
  const half = pico < 0n ? -PICO_PER_CENT / 2n : PICO_PER_CENT / 2n
  return ((pico + half) / PICO_PER_CENT) * PICO_PER_CENT
}
