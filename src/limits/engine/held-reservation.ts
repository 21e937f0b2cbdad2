import type { Limit } from '../limit.ts'
import type { BudgetAccount, RecordName } from './budget-account.ts'
import { type CallLimits, holdsFor } from './call-limits.ts'
import type { LimitedSubject } from './limited-subject.ts'
import {
  anyOfModels,
  type CallCharge,
  type CallToLimit,
  type LimitRefusal,
  type Reservation,
} from './limiter.ts'
import { countOf, type RateHolding } from './rate-holding.ts'
import { refuseAlone, refuseByBudget, refuseReserved } from './refusals.ts'

/** What a call may cost, as arithmetic can use it. */
export function picoOf(pico: bigint): bigint {
  return pico > 0n ? pico : 0n
}

/** Whether the call can be taken, without going over what this gateway holds. */
export function fits(
  { rates }: CallLimits,
  accounts: readonly BudgetAccount[],
  call: CallToLimit,
  nowMs: number,
): boolean {
  for (let at = 0; at < rates.length; at += 1) {
    const holding = rates[at]
    if (holding !== undefined && !fitsRate(holding, call, nowMs)) return false
  }
  if (call.estimatedPico <= 0n) return true
  for (let at = 0; at < accounts.length; at += 1) {
    const account = accounts[at]
    if (account !== undefined && !fitsAccount(account, call.estimatedPico)) return false
  }
  return true
}

export function fitsRate(holding: RateHolding, call: CallToLimit, nowMs: number): boolean {
  return holding.used(nowMs) + holding.needOf(call.estimatedTokens) <= holding.ceiling
}

export function fitsAccount(account: BudgetAccount, pico: bigint): boolean {
  return account.used + pico <= account.ceiling || account.isOpen
}

/** Whether so much is left beside all that other gateways may spend, as far as is known. */
export function hasRoom({ amount, charged, reserved, view }: BudgetAccount, pico: bigint): boolean {
  return view !== null && charged !== null && charged + reserved + view.othersHeld + pico <= amount
}

/**
 * Whether a call that runs may need so much more. It cannot wait for the other gateways, so it may go beyond what this
 * one holds, but only once: what is known of the others may be old, and silence grants nothing.
 */
function mayGrow(account: BudgetAccount, pico: bigint): boolean {
  return fitsAccount(account, pico) || (account.used <= account.ceiling && hasRoom(account, pico))
}

/** What is reserved: within what this gateway holds, beyond the budget, or neither yet. */
export type Coverage = 'covered' | 'beyond' | 'open'

function coverOf(accounts: readonly BudgetAccount[]): Coverage {
  if (accounts.some((account) => isBeyond(account, 0n))) return 'beyond'
  return accounts.every((account) => account.view !== null && fitsAccount(account, 0n)) ? 'covered' : 'open'
}

/** Whether it is known that not so much is left. */
export function isBeyond(account: BudgetAccount, pico: bigint): boolean {
  return account.view !== null && !hasRoom(account, pico)
}

/** Whom a reservation tells what becomes of it. */
export interface ReservationKeeper {
  /** Some of it was given back. */
  freed(subject: LimitedSubject): void
  /** It holds more. @returns Whether what this gateway holds is its own still. */
  grown(subject: LimitedSubject, limits: CallLimits): boolean
  /** Whether all is covered, once the others know what this gateway holds now; false where they cannot be asked. */
  asked(subject: LimitedSubject, cover: () => Coverage): Promise<boolean>
}

/** What a call holds of one subject's limits. */
export class HeldReservation implements Reservation {
  readonly #subject: LimitedSubject
  readonly #limits: CallLimits
  readonly #accounts: readonly BudgetAccount[]
  readonly #call: CallToLimit
  readonly #keeper: ReservationKeeper
  /** Numbers the call's record. */
  readonly #producer: string
  readonly #now: () => number
  /** What is reserved, and what of it a session has cost so far. */
  #pico: bigint
  #progressed = 0n
  /** Of windows: when the call was admitted, and how much it took of each limit. */
  readonly #bucket: number
  readonly #taken: readonly number[]
  #isSettled = false
  #isResting = false
  #isReleased = false

  /** Takes what the call needs, whether it fits or not. */
  constructor(
    subject: LimitedSubject,
    limits: CallLimits,
    accounts: readonly BudgetAccount[],
    call: CallToLimit,
    producer: string,
    nowMs: number,
    now: () => number,
    keeper: ReservationKeeper,
  ) {
    this.#subject = subject
    this.#limits = limits
    this.#accounts = accounts
    this.#call = call
    this.#producer = producer
    this.#now = now
    this.#keeper = keeper
    subject.running += 1
    const pico = picoOf(call.estimatedPico)
    this.#pico = pico
    const { rates } = limits
    let bucket = 0
    this.#taken = limits.hasTokens ? rates.map((holding) => holding.needOf(call.estimatedTokens)) : ONES
    for (let at = 0; at < rates.length; at += 1) {
      const taken = this.#takenOf(at)
      const used = rates[at]?.take(taken, nowMs) ?? 0
      if (used > bucket) bucket = used
    }
    this.#bucket = bucket
    if (pico > 0n) for (let at = 0; at < accounts.length; at += 1) accounts[at]?.reserve(pico)
  }

  get reservedPico(): bigint {
    return this.#pico
  }

  holds({ id }: Limit): boolean {
    const { rates, budgets } = this.#limits
    return rates.some(({ limit }) => limit.id === id) || budgets.some((budget) => budget.id === id)
  }

  progress(costPico: bigint): LimitRefusal | null {
    if (this.#isReleased || this.#isSettled) return null
    const cost = picoOf(costPico)
    const more = cost - this.#pico
    let short: BudgetAccount | null = null
    for (const account of this.#accounts) {
      account.progressed += cost - this.#progressed
      if (more <= 0n) continue
      if (!mayGrow(account, more)) short ??= account
      account.reserve(more)
    }
    this.#progressed = cost
    if (more > 0n) {
      this.#pico = cost
      if (!this.#keeper.grown(this.#subject, this.#limits)) short ??= this.#accounts[0] ?? null
    }
    for (const account of this.#accounts) {
      const { spent, view } = account
      if (view?.isExact === true && spent !== null && spent + account.progressed >= account.amount)
        return refuseByBudget(account, spent + account.progressed)
    }
    if (short === null) return null
    // What sessions at other gateways have cost is not spent yet, but reserved there.
    return hasRoom(short, 0n) ? refuseAlone(short) : refuseReserved(short)
  }

  rest(): void {
    if (this.#isReleased || this.#isResting) return
    this.#isResting = true
    const unused = this.#isSettled ? 0n : this.#pico - this.#progressed
    if (unused > 0n) {
      this.#pico -= unused
      for (const account of this.#accounts) account.giveBack(unused)
    }
    const { rates } = this.#limits
    for (let at = 0; at < rates.length; at += 1)
      if (rates[at]?.window === null) rates[at]?.giveBack(this.#takenOf(at), this.#bucket)
    this.#keeper.freed(this.#subject)
  }

  /** Whether budgets may have room for so much more. */
  maySpend(costPico: bigint): boolean {
    const pico = picoOf(costPico)
    if (this.#isReleased || this.#isSettled || pico === 0n) return true
    const isHeld = this.#accounts.every((account) => fitsAccount(account, pico))
    return isHeld || !this.#accounts.some((account) => isBeyond(account, pico))
  }

  spend(costPico: bigint): boolean | Promise<boolean> {
    const pico = picoOf(costPico)
    const accounts = this.#accounts
    if (this.#isReleased || this.#isSettled || pico === 0n) return true
    const isHeld = accounts.every((account) => fitsAccount(account, pico))
    if (!this.maySpend(pico)) return false
    for (const account of accounts) account.reserve(pico)
    this.#pico += pico
    if (!this.#keeper.grown(this.#subject, this.#limits)) return false
    if (isHeld) return true
    return this.#keeper.asked(this.#subject, () => coverOf(accounts))
  }

  settle(charges: readonly CallCharge[], sequence: number, jobPico = 0n): void {
    if (this.#isSettled) return
    this.#isSettled = true
    if (!this.#isReleased) this.#giveBackMoney()
    if (Number.isSafeInteger(sequence) && sequence > 0) {
      const { keyId, arrivedAtMs, model: named, route } = this.#call
      const withRoute = (model: string) => (route === undefined ? model : anyOfModels([model, route]))
      const record: RecordName = { producer: this.#producer, sequence }
      for (const { model, besideOf, costPico } of charges) {
        const names =
          besideOf === undefined
            ? { keyId, model: withRoute(model) }
            : { keyId, model, isHeld: (limit: Limit) => holdsFor(limit, keyId, withRoute(besideOf)) }
        if (costPico > 0n) this.#subject.charge(names, arrivedAtMs, costPico, record)
        // What runs beside a call is no answer to its name.
        if (model !== named && besideOf === undefined) this.#subject.learnModel(named, model)
      }
      if (jobPico > 0n) this.#subject.chargeJob({ keyId, model: named }, arrivedAtMs, jobPico, record)
    }
    if (this.#limits.hasTokens && !this.#isReleased) this.#correctTokens(charges)
    this.#keeper.freed(this.#subject)
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#subject.running -= 1
    if (!this.#isSettled) this.#giveBackMoney()
    const { rates } = this.#limits
    for (let at = 0; at < rates.length; at += 1) {
      const holding = rates[at]
      // A call that was recorded has used its request and its tokens; a slot is free once the call is over.
      const isHeld = holding?.window === null ? !this.#isResting : !this.#isSettled
      if (isHeld) holding?.giveBack(this.#takenOf(at), this.#bucket)
    }
    this.#keeper.freed(this.#subject)
  }

  #giveBackMoney(): void {
    const pico = this.#pico
    for (let at = 0; at < this.#accounts.length; at += 1) {
      const account = this.#accounts[at]
      if (account === undefined) continue
      if (pico > 0n) account.giveBack(pico)
      if (this.#progressed > 0n) account.progressed -= this.#progressed
    }
    this.#pico = 0n
    this.#progressed = 0n
  }

  /** The real figures take the place of the estimate, in the time of the call's admission. */
  #correctTokens(charges: readonly CallCharge[]): void {
    let tokens = 0
    let cached = 0
    for (const charge of charges) {
      tokens += countOf(charge.tokens)
      cached += countOf(charge.cachedTokens)
    }
    const { rates } = this.#limits
    const nowMs = this.#now()
    for (let at = 0; at < rates.length; at += 1) {
      const holding = rates[at]
      if (holding?.kind !== 'tokens') continue
      const used = holding.limit.countsCached ? tokens : Math.max(0, tokens - cached)
      holding.settle(this.#takenOf(at), used, this.#bucket, nowMs)
    }
  }

  #takenOf(at: number): number {
    return this.#taken[at] ?? 1
  }
}

/** What a call holds of the limits of several subjects: all of it, or nothing. */
export class JointReservation implements Reservation {
  readonly #parts: readonly HeldReservation[]

  constructor(parts: readonly HeldReservation[]) {
    this.#parts = parts
  }

  get reservedPico(): bigint {
    let most = 0n
    for (const { reservedPico } of this.#parts) if (reservedPico > most) most = reservedPico
    return most
  }

  holds(limit: Limit): boolean {
    return this.#parts.some((part) => part.holds(limit))
  }

  progress(costPico: bigint): LimitRefusal | null {
    let refusal: LimitRefusal | null = null
    for (const part of this.#parts) {
      const found = part.progress(costPico)
      refusal ??= found
    }
    return refusal
  }

  rest(): void {
    for (const part of this.#parts) part.rest()
  }

  spend(costPico: bigint): boolean | Promise<boolean> {
    if (!this.#parts.every((part) => part.maySpend(costPico))) return false
    const asked = this.#parts.map((part) => part.spend(costPico)).filter((spent) => spent !== true)
    return asked.length === 0 || Promise.all(asked).then((answers) => answers.every((isCovered) => isCovered))
  }

  settle(charges: readonly CallCharge[], sequence: number, jobPico = 0n): void {
    for (const part of this.#parts) part.settle(charges, sequence, jobPico)
  }

  release(): void {
    for (const part of this.#parts) part.release()
  }
}

/** Of calls without a limit on tokens: one of each. */
const ONES: readonly number[] = []
