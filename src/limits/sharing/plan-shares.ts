import type { BudgetAccount } from '../engine/budget-account.ts'
import type { CallLimits } from '../engine/call-limits.ts'
import { fits } from '../engine/held-reservation.ts'
import type { LimitedSubject } from '../engine/limited-subject.ts'
import type { CallToLimit } from '../engine/limiter.ts'
import type { RateHolding } from '../engine/rate-holding.ts'
import { shareOfPico, shareOfRate } from './share-sizes.ts'

/** A call that waits, and what it needs of each of its subjects. */
export interface CallToPlan {
  readonly call: CallToLimit
  readonly parts: readonly PlannedPart[]
  /** Subjects of which nothing was planned for it, as it had not got enough of those before. */
  readonly deferred: Set<LimitedSubject>
}

interface PlannedPart {
  readonly entry: { readonly subject: LimitedSubject }
  readonly limits: CallLimits
  readonly accounts: readonly BudgetAccount[]
}

/** What this gateway is going to hold of one limit. */
export interface PlannedShare<Holding, Amount> {
  readonly holding: Holding
  readonly ceiling: Amount
  readonly lowAt: Amount
  /** A call waits for more than is free. */
  readonly wants: boolean
}

interface PlannedPico extends PlannedShare<BudgetAccount, bigint> {
  /** The budget, as it is now. */
  readonly ofAmount: bigint
}

export interface SharePlan {
  readonly accounts: readonly PlannedPico[]
  readonly rates: readonly PlannedShare<RateHolding, number>[]
}

/** What waiting calls take of a limit, while the plan is made. */
class Demand<Amount> {
  planned: Amount
  room: Amount
  wants = false

  constructor(none: Amount, room: Amount) {
    this.planned = none
    this.room = room
  }
}

/**
 * Plans what this gateway holds from now on: what it uses, what waiting calls need, in their order, and a part of what
 * is left. Together with what the others hold it never comes to more than the limit, but for one call that runs alone.
 *
 * @param waiting The calls that wait for the subject, in their order.
 * @param isIdle The client makes no calls: nothing is held in advance.
 * @param isSettled Whether all is known that others hold. Where not, no more of a budget is taken than is held already.
 */
export function planShares(
  subject: LimitedSubject,
  waiting: Iterable<CallToPlan>,
  nowMs: number,
  isIdle: boolean,
  isSettled: boolean,
): SharePlan {
  const accounts = new Map<BudgetAccount, Demand<bigint>>()
  for (const account of subject.accounts.values())
    accounts.set(account, new Demand(0n, isSettled ? roomOf(account) : 0n))
  const rates = new Map<RateHolding, Demand<number>>()
  for (const holding of subject.rates.values()) {
    const room = holding.amount - holding.others.held - holding.used(nowMs)
    rates.set(holding, new Demand(0, Math.max(0, room)))
  }
  for (const call of waiting) planCall(call, subject, accounts, rates, isSettled, nowMs)
  return {
    accounts: [...accounts].map(([holding, { planned, room, wants }]) => {
      const { view, used, confirmed, amount: ofAmount } = holding
      if (!isSettled) {
        // What calls that run need beyond it was never granted, and is not now.
        const ceiling = confirmed > used && isIdle ? used : confirmed
        return { holding, ceiling, lowAt: ceiling, ofAmount, wants }
      }
      const gateways = isIdle || wants || view === null || view.wants ? 0 : view.gateways + 1
      const { ceiling, chunk } = shareOfPico(used, room, planned, gateways)
      return { holding, ceiling, lowAt: ceiling - chunk / 2n, ofAmount, wants }
    }),
    rates: [...rates].map(([holding, { planned, room, wants }]) => {
      const gateways = isIdle || wants || holding.others.wants ? 0 : holding.others.gateways + 1
      const { ceiling, chunk } = shareOfRate(holding.used(nowMs), room, planned, gateways)
      return { holding, ceiling, lowAt: ceiling - chunk / 2, wants }
    }),
  }
}

/** What no gateway has promised to any call. */
function roomOf(account: BudgetAccount): bigint {
  const { view, charged } = account
  if (view === null || charged === null) return 0n
  const room = account.amount - charged - account.reserved - view.othersHeld
  return room > 0n ? room : 0n
}

/**
 * A call needs all of its limits at once: it takes of none of them unless there is enough of each. Of its subjects it
 * gets what it needs in their order, which is the same for all calls and gateways: else two calls could each hold what
 * the other waits for.
 */
function planCall(
  waiting: CallToPlan,
  subject: LimitedSubject,
  accounts: ReadonlyMap<BudgetAccount, Demand<bigint>>,
  rates: ReadonlyMap<RateHolding, Demand<number>>,
  isSettled: boolean,
  nowMs: number,
): void {
  const { call, parts } = waiting
  for (const part of parts) {
    if (part.entry.subject === subject) break
    if (fits(part.limits, part.accounts, call, nowMs)) continue
    waiting.deferred.add(subject)
    return
  }
  const part = parts.find(({ entry }) => entry.subject === subject)
  if (part === undefined) return
  const { limits, accounts: ofCall } = part
  const pico = call.estimatedPico
  let isPossible = true
  for (const holding of limits.rates) {
    const demand = rates.get(holding)
    if (demand === undefined) continue
    if (demand.wants || demand.planned + holding.needOf(call.estimatedTokens) > demand.room) {
      demand.wants = true
      isPossible = false
    }
  }
  if (pico > 0n)
    for (const account of ofCall) {
      const demand = accounts.get(account)
      if (demand === undefined || account.isOpen) continue
      // Nothing is promised of what is not known. It will be soon, and then the call needs its rates.
      if (account.view === null || !isSettled) continue
      if (demand.wants || (demand.planned + pico > demand.room && !mayRunAlone(account, demand))) {
        demand.wants = true
        isPossible = false
      }
    }
  if (!isPossible) return
  for (const holding of limits.rates) {
    const demand = rates.get(holding)
    if (demand !== undefined) demand.planned += holding.needOf(call.estimatedTokens)
  }
  if (pico <= 0n) return
  for (const account of ofCall) {
    const demand = accounts.get(account)
    if (demand !== undefined && account.view !== null) demand.planned += pico
  }
}

/** Whether no call runs anywhere, no job waits, and something is left: then one may run, whatever it may cost. */
function mayRunAlone(account: BudgetAccount, { planned }: Demand<bigint>): boolean {
  const { view, charged } = account
  if (view === null || charged === null || planned > 0n || account.reserved > 0n) return false
  return view.othersHeld === 0n && account.jobsReserved === 0n && charged < account.amount
}
