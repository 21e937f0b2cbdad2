import type { BudgetAccount } from './budget-account.ts'
import type { CallLimits } from './call-limits.ts'
import type { LimitedClient } from './limited-client.ts'
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

function isBeyond(account: BudgetAccount, pico: bigint): boolean {
  return account.view !== null && !hasRoom(account, pico)
}

/** Whom a reservation tells what becomes of it. */
export interface ReservationKeeper {
  /** Some of it was given back. */
  freed(client: LimitedClient): void
  /** It holds more. @returns Whether what this gateway holds is its own still. */
  grown(client: LimitedClient, limits: CallLimits): boolean
  /** Whether all is covered, once the others know what this gateway holds now; false where they cannot be asked. */
  asked(client: LimitedClient, cover: () => Coverage): Promise<boolean>
}

/** What a call holds of its client's limits. */
export class HeldReservation implements Reservation {
  readonly #client: LimitedClient
  readonly #limits: CallLimits
  readonly #accounts: readonly BudgetAccount[]
  readonly #call: CallToLimit
  readonly #keeper: ReservationKeeper
  readonly #now: () => number
  /** What is reserved, and what of it a session has cost so far. */
  #pico: bigint
  #progressed = 0n
  /** Of windows: when the call was admitted, and how much it took of each limit. */
  readonly #bucket: number
  readonly #taken: readonly number[]
  #isSettled = false
  #isReleased = false

  /** Takes what the call needs, whether it fits or not. */
  constructor(
    client: LimitedClient,
    limits: CallLimits,
    accounts: readonly BudgetAccount[],
    call: CallToLimit,
    nowMs: number,
    now: () => number,
    keeper: ReservationKeeper,
  ) {
    this.#client = client
    this.#limits = limits
    this.#accounts = accounts
    this.#call = call
    this.#now = now
    this.#keeper = keeper
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
      if (!this.#keeper.grown(this.#client, this.#limits)) short ??= this.#accounts[0] ?? null
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

  spend(costPico: bigint): boolean | Promise<boolean> {
    const pico = picoOf(costPico)
    const accounts = this.#accounts
    if (this.#isReleased || this.#isSettled || pico === 0n) return true
    const isHeld = accounts.every((account) => fitsAccount(account, pico))
    if (!isHeld && accounts.some((account) => isBeyond(account, pico))) return false
    for (const account of accounts) account.reserve(pico)
    this.#pico += pico
    this.#keeper.grown(this.#client, this.#limits)
    if (isHeld) return true
    return this.#keeper.asked(this.#client, () => coverOf(accounts))
  }

  settle(charges: readonly CallCharge[], sequence: number, jobPico = 0n): void {
    if (this.#isSettled) return
    this.#isSettled = true
    if (!this.#isReleased) this.#giveBackMoney()
    if (Number.isSafeInteger(sequence) && sequence > 0) {
      const { keyId, arrivedAtMs, model: named, route } = this.#call
      for (const { model, costPico } of charges) {
        const spentOf = route === undefined ? model : anyOfModels([model, route])
        if (costPico > 0n) this.#client.charge(keyId, spentOf, arrivedAtMs, costPico, sequence)
        if (model !== named) this.#client.learnModel(named, model)
      }
      if (jobPico > 0n) this.#client.chargeJob(keyId, named, arrivedAtMs, jobPico, sequence)
    }
    if (this.#limits.hasTokens && !this.#isReleased) this.#correctTokens(charges)
    this.#keeper.freed(this.#client)
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    if (!this.#isSettled) this.#giveBackMoney()
    const { rates } = this.#limits
    for (let at = 0; at < rates.length; at += 1) {
      const holding = rates[at]
      // A call that was recorded has used its request and its tokens; a slot is free once the call is over.
      if (holding !== undefined && (holding.window === null || !this.#isSettled))
        holding.giveBack(this.#takenOf(at), this.#bucket)
    }
    this.#keeper.freed(this.#client)
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

/** Of calls without a limit on tokens: one of each. */
const ONES: readonly number[] = []
