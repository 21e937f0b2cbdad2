import type { ErrorDetail } from '../../http/errors.ts'

/** What limits ask about a call before it goes upstream. */
export interface CallToLimit {
  readonly clientId: string
  readonly keyId: string
  /** As the call names it, cleaned; `null`: it names none. */
  readonly model: string | null
  /** Milliseconds since 1970: its UTC day is the day that the call is charged to. */
  readonly arrivedAtMs: number
  /** What it may cost, integer pico-USD: its prompt and the most it may generate; 0: it runs no model. */
  readonly estimatedPico: bigint
  /** What it may use, prompt and answer. */
  readonly estimatedTokens: number
}

/** What a call used, once it is recorded. Figures of several models in one call stand apart. */
export interface CallCharge {
  readonly model: string
  readonly costPico: bigint
  /** Input and output tokens, cached ones included. */
  readonly tokens: number
  readonly cachedTokens: number
}

/** Why limits refuse a call, with what the answer needs. */
export interface LimitRefusal {
  readonly error: 'rate_limit_exceeded' | 'budget_exceeded'
  /** For the counts of refused calls. */
  readonly reason: 'requests' | 'tokens' | 'concurrent' | 'budget' | 'reserved'
  readonly detail: ErrorDetail
}

/** What an admitted call holds of its client's limits, until it ends. */
export interface Reservation {
  /** The call is recorded: what it used counts in place of what was reserved. Once; before `release`. */
  settle(charges: readonly CallCharge[], sequence: number): void
  /** The call is over. What was not settled is given back. */
  release(): void
}
