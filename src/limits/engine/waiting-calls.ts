import type { BudgetAccount } from './budget-account.ts'
import type { CallLimits } from './call-limits.ts'
import type { CallToLimit, LimitRefusal, Reservation } from './limiter.ts'

/** A process that has seen to nothing for longer stood still. */
const LONGEST_STEP_MS = 250

/** A call that does not fit yet: into what this gateway holds, or into what running calls have left. */
export class WaitingCall {
  readonly call: CallToLimit
  limits: CallLimits
  accounts: readonly BudgetAccount[]
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  /** How long this process has seen to it: while it stands still, nothing is waited for. */
  waitedMs = 0
  /** Since when only what other gateways hold keeps it from its rates, and how long it had waited by then. */
  heldSinceMs: number
  #heldFromMs = 0
  #seenAtMs: number
  readonly answer = Promise.withResolvers<Reservation | LimitRefusal | null>()

  constructor(call: CallToLimit, limits: CallLimits, accounts: readonly BudgetAccount[], sinceMs: number) {
    this.call = call
    this.limits = limits
    this.accounts = accounts
    this.sinceMs = sinceMs
    this.heldSinceMs = sinceMs
    this.#seenAtMs = sinceMs
  }

  /** Until now at least it waited for running calls. */
  waitsForRunning(nowMs: number): void {
    this.heldSinceMs = nowMs
    this.#heldFromMs = this.waitedMs
  }

  get heldForMs(): number {
    return this.waitedMs - this.#heldFromMs
  }

  seen(nowMs: number): void {
    this.waitedMs += Math.min(nowMs - this.#seenAtMs, LONGEST_STEP_MS)
    this.#seenAtMs = nowMs
  }
}

/** The calls of one client that wait, in the order in which they came. */
export class WaitingCalls {
  #calls: readonly WaitingCall[] = []

  get size(): number {
    return this.#calls.length
  }

  [Symbol.iterator](): Iterator<WaitingCall> {
    return this.#calls[Symbol.iterator]()
  }

  add(call: WaitingCall): void {
    this.#calls = [...this.#calls, call]
    countWaiting(call, 1)
  }

  /** The limits have changed: each call is held against those of now. */
  rebind(
    find: (call: CallToLimit) => { readonly limits: CallLimits; readonly accounts: readonly BudgetAccount[] },
  ): void {
    for (const waiting of this.#calls) {
      countWaiting(waiting, -1)
      Object.assign(waiting, find(waiting.call))
      countWaiting(waiting, 1)
    }
  }

  /** Tries each in order; those with an answer wait no longer. */
  answerEach(decide: (call: WaitingCall) => Reservation | LimitRefusal | 'wait' | null): void {
    const left: WaitingCall[] = []
    const answered: (() => void)[] = []
    const calls = this.#calls
    for (const call of calls) {
      const answer = decide(call)
      if (answer === 'wait') {
        left.push(call)
        continue
      }
      countWaiting(call, -1)
      answered.push(() => call.answer.resolve(answer))
    }
    if (answered.length === 0) return
    // Nothing runs in between: those that came meanwhile would be lost otherwise.
    this.#calls = left
    for (const resolve of answered) resolve()
  }
}

function countWaiting({ limits, accounts }: WaitingCall, calls: 1 | -1): void {
  for (const holding of limits.rates) holding.waiting += calls
  for (const account of accounts) account.waiting += calls
}
