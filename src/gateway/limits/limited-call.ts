import type { ErrorDetail } from '../../http/errors.ts'

/** What a call that runs a model may cost and use, before it goes upstream. */
export interface ExpectedUse {
  /** Integer pico-USD: its prompt and the most it may generate. */
  readonly pico: bigint
  /** Prompt and answer. */
  readonly tokens: number
  /** False: what it will have used gets no cost, as no price is known or its answer is not read. */
  readonly isPriced: boolean
}

/** The most that a call is taken to use, where neither its request nor its answer says how much that is. */
export interface UpperUse {
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * In place of a model's name: the call may run whichever model, so the limits of all models hold for it. Else a body
 * that names two would be a way around those of the one that runs.
 */
export const ANY_MODEL = '*'

/** What limits ask about a call before it goes upstream. */
export interface CallToLimit {
  readonly clientId: string
  readonly keyId: string
  /** As the call names it, cleaned, or `ANY_MODEL`; `null`: it runs none. */
  readonly model: string | null
  /** Milliseconds since 1970: its UTC day is the day that the call is charged to. */
  readonly arrivedAtMs: number
  /** What it may cost, integer pico-USD: its prompt and the most it may generate; 0: it runs no model. */
  readonly estimatedPico: bigint
  /** What it may use, prompt and answer. */
  readonly estimatedTokens: number
  /** Once it is destroyed, the client has left: a call that waits is dropped. */
  readonly client: { readonly destroyed: boolean }
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
  /** What it holds of budgets now: pico-USD. */
  readonly reservedPico: bigint
  /**
   * A session goes on, and has cost `costPico` so far: at least that is reserved from now on, however much is
   * left. Not `null`: a hard budget is spent, sessions included, and this one has to end.
   */
  progress(costPico: bigint): LimitRefusal | null
  /**
   * The call is recorded: what it used counts in place of what was reserved. Once; before `release`.
   *
   * @param sequence The number of its record in its client's journal, from 1.
   * @param jobPico What the record says that a job reserves, until Postgres has the job's cost.
   */
  settle(charges: readonly CallCharge[], sequence: number, jobPico?: bigint): void
  /** The call is over. What was not settled is given back. */
  release(): void
}
