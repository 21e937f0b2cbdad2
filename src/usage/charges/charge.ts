import type { UtcDay } from '../../domain/utc-day.ts'

/** What is charged beside calls. `commitment`: throughput that was bought in advance. */
export const CHARGE_CATEGORIES = [
  'purchase',
  'commitment',
  'credit',
  'storage',
  'hosting',
  'session',
  'tax',
  'adjustment',
] as const

export type ChargeCategory = (typeof CHARGE_CATEGORIES)[number]

/** Which part of a charge a client has that was shared out. */
export type ChargePart = 'used' | 'unused' | 'whole'

/** What was charged for days of one month. */
export interface NewCharge {
  /** The operator's: the number of an invoice and its line. */
  readonly name: string
  readonly category: ChargeCategory
  readonly from: UtcDay
  readonly to: UtcDay
  readonly service: string
  /** `null`: at none. */
  readonly upstream: string | null
  /** Of a commitment: what it covers; `null`: all models of its upstream. */
  readonly model: string | null
  /** `null`: of none. */
  readonly clientId: string | null
  /** Decimal text, and of what; `null`: not said. */
  readonly quantity: string | null
  readonly unit: string | null
  /** Of a commitment: the tokens that it could have served; `null`: not said. */
  readonly capacityTokens: bigint | null
  /** 1e-12 USD. Below 0: in favour of whom it is charged. */
  readonly amountPico: bigint
  readonly reason: string
}

export interface Charge extends NewCharge {
  readonly id: string
  /** The name of the client; `null`: there is none. */
  readonly client: string | null
  /** The id of what it is a part of; `null`: it is not one. */
  readonly sharedFrom: string | null
  readonly part: ChargePart | null
}

/** Tokens of clients, input and output, by client. */
export type TokensByClient = ReadonlyMap<string, bigint>

export interface SpreadCommitment {
  /** What its covered tokens cost, and by client. */
  readonly usedPico: bigint
  readonly byClient: ReadonlyMap<string, bigint>
  /** What no client used. */
  readonly unusedPico: bigint
  readonly tokens: bigint
  /** For a million tokens, to the nearest pico-dollar; `null`: it covered none. */
  readonly effectivePico: bigint | null
}

/**
 * Spreads a commitment over what it covered: each token costs the same. Without a capacity all of it was used, unless
 * it covered nothing. The parts add up to the amount.
 */
export function spreadCommitment(
  { amountPico, capacityTokens }: Pick<NewCharge, 'amountPico' | 'capacityTokens'>,
  covered: TokensByClient,
): SpreadCommitment {
  const tokens = [...covered.values()].reduce((sum, count) => sum + count, 0n)
  const isFull = capacityTokens === null || tokens >= capacityTokens
  const usedPico = tokens <= 0n ? 0n : isFull ? amountPico : (amountPico * tokens) / capacityTokens
  return {
    usedPico,
    byClient: shareOut(usedPico, covered),
    unusedPico: amountPico - usedPico,
    tokens,
    effectivePico: tokens <= 0n ? null : (usedPico * 2_000_000n + tokens) / (2n * tokens),
  }
}

/**
 * Parts of an amount by weights, which add up to it: whole pico-dollars first, and those that are left to the largest
 * remainders, of equal ones to the lower id. Without a weight above 0 there are none.
 */
export function shareOut(
  amountPico: bigint,
  weights: ReadonlyMap<string, bigint>,
): ReadonlyMap<string, bigint> {
  const weighed = [...weights].filter(([, weight]) => weight > 0n)
  const total = weighed.reduce((sum, [, weight]) => sum + weight, 0n)
  if (total === 0n) return new Map()
  const sign = amountPico < 0n ? -1n : 1n
  const amount = amountPico * sign
  const parts = weighed.map(([id, weight]) => ({
    ...{ id, whole: (amount * weight) / total, rest: (amount * weight) % total },
  }))
  const left = amount - parts.reduce((sum, { whole }) => sum + whole, 0n)
  const byRest = parts.toSorted((a, b) =>
    a.rest === b.rest ? (a.id < b.id ? -1 : 1) : a.rest > b.rest ? -1 : 1,
  )
  return new Map(
    byRest.map(({ id, whole }, place) => [id, sign * (whole + (BigInt(place) < left ? 1n : 0n))] as const),
  )
}
