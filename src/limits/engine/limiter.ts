import type { ErrorDetail } from '../../http/errors.ts'
import { coversModel } from '../covers-model.ts'
import type { Limit } from '../limit.ts'

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

/** Stands between names of which any may run. No name has it, and one that had would meet more limits than others. */
const OR = '\n'

/** In place of a model's name: the call asks for the first of these, and any of them may run. The limits of all hold. */
export function anyOfModels(names: readonly string[]): string {
  return [...new Set(names)].join(OR)
}

/** Whether a limit for `pattern` is about `model`, or one of those that it stands for. */
export function coversAnyOf(pattern: string, model: string): boolean {
  return model.includes(OR)
    ? model.split(OR).some((name) => coversModel(pattern, name))
    : coversModel(pattern, model)
}

/** Whether a limit holds for a call already. */
export type IsHeld = (limit: Limit) => boolean

/** What says which limits hold for a call. */
export interface LimitedCall {
  readonly clientId: string
  readonly keyId: string
  /** As the call names it, cleaned, or `ANY_MODEL`, or `anyOfModels`; `null`: it runs none. */
  readonly model: string | null
  /** Its values on the axes of the configuration, as its record has them. Absent: none. */
  readonly axes?: string | undefined
  /** Of a session, beside whose own model it runs another: only other limits, for models, hold. Absent: it is a call of its own. */
  readonly isHeld?: IsHeld | undefined
  /** Milliseconds since 1970: its UTC day is the day that the call is charged to. */
  readonly arrivedAtMs: number
}

/** A call that waits for limits of its subjects. */
export interface CallInLine {
  /** Higher than that of all that came before. */
  readonly place: number
  /**
   * Whether it waits for this subject, or has what it needs of the others: not where it is short of one before, or of a value.
   */
  waitsFor(subjectId: string, nowMs: number): boolean
}

/** What limits ask about a call before it goes upstream. */
export interface CallToLimit extends LimitedCall {
  /** The name of `routes` that it asks for: what it costs is spent of budgets for that, too. Absent: it asks for none. */
  readonly route?: string | undefined
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
  /** The model of the session beside which it ran, whose budgets have its cost already. Absent: it is the call's own. */
  readonly besideOf?: string | undefined
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
  readonly limitId: string
  readonly detail: ErrorDetail
}

/** What an admitted call holds of its client's limits, until it ends. */
export interface Reservation {
  /** What it holds of budgets now: pico-USD. */
  readonly reservedPico: bigint
  /** Whether it is one of the limits that the call was admitted by. */
  holds(limit: Limit): boolean
  /**
   * A session goes on, and has cost `costPico` so far: at least that is reserved from now on, however much is
   * left. Not `null`: a hard budget is spent, sessions included, and this one has to end.
   */
  progress(costPico: bigint): LimitRefusal | null
  /** It runs no longer, and what it has cost is still to be charged: only so much stays reserved. */
  rest(): void
  /**
   * An attempt of the call may have cost `costPico`, and another one is to follow: it is reserved beside what the call
   * holds already. False: budgets have no room for that, so that none may follow. A promise only where this process
   * holds too little and the other gateways have to be asked.
   */
  spend(costPico: bigint): boolean | Promise<boolean>
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

/** The figures of `x-ratelimit-*`, of the limit of which least is left. */
export interface RateHeader {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the whole limit is free again, if no call comes. */
  readonly resetMs: number
}

/** `null`: the client has no such limit. */
export interface RateHeaders {
  readonly requests: RateHeader | null
  readonly tokens: RateHeader | null
}

/** For metrics and readiness. */
export interface LimiterStats {
  /** With Redis, since the start, and those of them that failed. */
  readonly exchanges: number
  readonly exchangeFailures: number
  /** Calls that wait now, for other gateways or for running calls. */
  readonly waiting: number
  /** Redis is away, so this process goes on with its share. */
  readonly isDegraded: boolean
}

/** The limits of a gateway process. */
export interface Limiter {
  /** Whether any limit may hold for the call: if not, nothing below needs to be asked. */
  limits(clientId: string, keyId: string, axes?: string): boolean
  /**
   * Whether a hard budget that refuses models without a price holds for the call.
   */
  refusesUnpriced(call: LimitedCall): boolean
  /**
   * Takes what the call needs. A promise only where this process holds too little and the other gateways
   * have to be asked. `null`: no limit holds for this call.
   */
  admit(call: CallToLimit): Reservation | LimitRefusal | null | Promise<Reservation | LimitRefusal | null>
  /** As of now, for the answer's headers. */
  rates(call: LimitedCall): RateHeaders
  /** The same of one limit that holds for calls of the client; `null`: it is a budget. */
  rateOf(clientId: string, limit: Limit): RateHeader | null
  stats(): LimiterStats
}
