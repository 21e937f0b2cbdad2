import type { RedisPresence } from '../sharing/redis-presence.ts'
import type { BudgetAccount } from './budget-account.ts'
import { fits, fitsAccount, fitsRate, hasRoom, isBeyond } from './held-reservation.ts'
import type { LimitRefusal } from './limiter.ts'
import type { RateHolding } from './rate-holding.ts'
import { refuseAlone, refuseByBudget, refuseByRate, refuseRateReserved, refuseReserved } from './refusals.ts'
import type { SubjectEntry, WaitingCall } from './subject-entry.ts'

/** So long a call waits for what another gateway holds of a rate and does not use. */
const RATE_WAIT_MS = 500
/** So long it waits for running calls that hold the rest of a limit. */
const RUNNING_WAIT_MS = 5_000
/** So long at most it waits, while it is not known yet what others hold. */
const SETTLING_WAIT_MS = 8_000
/** So long it waits for what Postgres has of a budget. */
const UNKNOWN_WAIT_MS = 1_000
/** A reading of Postgres of which it is believed that jobs still wait. */
const RECENT_MS = 5_000
/** What is known of the other gateways is good for so long, where it refuses a call. */
const FRESH_MS = 100

const CLIENT_LEFT: LimitRefusal = {
  error: 'rate_limit_exceeded',
  reason: 'reserved',
  limitId: '',
  detail: {},
}

/**
 * What becomes of a call that did not fit at once. All of its subjects have to allow it.
 *
 * @param pass As `WaitingLine` has it.
 * @returns `take`: it fits. A refusal: that of the limit of which least is left. `wait`: neither is sure yet.
 */
export function decideWaiting(
  call: WaitingCall,
  presence: RedisPresence,
  nowMs: number,
  pass: number,
): 'take' | 'wait' | LimitRefusal {
  if (call.call.client.destroyed) return CLIENT_LEFT
  call.seen(nowMs)
  // Before rates: their refusals invite to try again, which is in vain while the budget is spent.
  const spentBudget = findSpent(call, presence, nowMs)
  if (spentBudget?.spent != null) {
    // What is left of the others is known in a moment, and may be less.
    const isAllKnown = call.parts.every(({ entry }) => isKnownOf(entry, call, presence, nowMs))
    if (!isAllKnown && call.waitedMs < FRESH_MS) return 'wait'
    return refuseByBudget(spentBudget, spentBudget.spent)
  }
  let answer: 'take' | 'wait' = 'take'
  let refused: LimitRefusal | null = null
  /** Of what comes behind the first subject that it is short of, nothing was asked for it yet. */
  let isAsked = true
  for (const { entry, limits, accounts } of call.parts) {
    const isShort = isAsked && !fits(limits, accounts, call.call, nowMs)
    if (isShort) call.isShortOf(entry, nowMs)
    const hasRates = entry.hasRates(limits, presence, nowMs)
    const reportedAtMs = presence.isAway ? Number.POSITIVE_INFINITY : entry.exchange.reportedAtMs
    if (!hasRates && !limits.isEmpty) answer = 'wait'
    for (const holding of limits.rates) {
      const hasEnough = hasRates && fitsRate(holding, call.call, nowMs)
      if (hasEnough && (answer === 'wait' || holding.waiting.isFirst(call, entry.subject.id, nowMs, pass)))
        continue
      answer = 'wait'
      if (!isKnownOf(entry, call, presence, nowMs)) continue
      const refusal = refusalByRate(holding, call, isAsked ? reportedAtMs : null, nowMs)
      if (refusal !== null && (refused === null || retryAfter(refusal) > retryAfter(refused)))
        refused = refusal
    }
    if (isShort) isAsked = false
  }
  if (refused !== null) return refused
  if (call.call.estimatedPico > 0n)
    for (const { entry, accounts } of call.parts) {
      const decision = decideMoney(accounts, entry, call, answer, presence, nowMs, pass)
      if (decision === 'wait') answer = 'wait'
      else if (decision !== 'take') return decision
    }
  return answer
}

/** Whether enough is known of what other gateways hold to refuse a call. */
function isKnownOf(
  { exchange }: SubjectEntry,
  { sinceMs }: WaitingCall,
  { isAway }: RedisPresence,
  nowMs: number,
): boolean {
  return isAway || exchange.knownAtMs >= sinceMs || nowMs - exchange.knownAtMs < FRESH_MS
}

/** Of the call's budgets that are spent, the one of which least is left. */
function findSpent(call: WaitingCall, presence: RedisPresence, nowMs: number): BudgetAccount | null {
  if (call.call.estimatedPico <= 0n) return null
  let tightest: BudgetAccount | null = null
  for (const { entry, accounts } of call.parts) {
    if (!isKnownOf(entry, call, presence, nowMs)) continue
    for (const account of accounts)
      if (isSpent(account) && (tightest === null || leftOf(account) < leftOf(tightest))) tightest = account
  }
  return tightest
}

function leftOf({ amount, spent }: BudgetAccount): bigint {
  return amount - (spent ?? 0n)
}

function retryAfter({ detail }: LimitRefusal): number {
  return Number(detail.headers?.['retry-after'] ?? 0)
}

/** @param soFar `wait`: the call waits for something else, so that it is not its turn. */
function decideMoney(
  accounts: readonly BudgetAccount[],
  entry: SubjectEntry,
  call: WaitingCall,
  soFar: 'take' | 'wait',
  presence: RedisPresence,
  nowMs: number,
  pass: number,
): 'take' | 'wait' | LimitRefusal {
  const { exchange } = entry
  const isKnown = isKnownOf(entry, call, presence, nowMs)
  let answer = soFar
  for (const account of accounts) {
    const sharesAlone = account.limit.whenAlone === 'share'
    const hasMoney = entry.hasMoney(sharesAlone, presence, nowMs)
    const hasEnough = hasMoney && fitsAccount(account, call.call.estimatedPico)
    if (hasEnough && answer === 'wait') continue
    const mayPass = account.waiting.isFirst(call, entry.subject.id, nowMs, pass)
    if (hasEnough && mayPass) continue
    // Redis is back, and it is known in a moment what others hold.
    const isSettling = !presence.isAway && !exchange.isSettled && call.waitedMs < SETTLING_WAIT_MS
    const hasWaited = call.waitedMs >= RUNNING_WAIT_MS && !isSettling
    if (sharesAlone && (hasWaited || (isKnown && mayPass)) && passesAlone(account, call, entry, presence))
      continue
    if (isKnown && isHeldByJobs(account, call, entry)) return refuseReserved(account)
    if (hasWaited || (sharesAlone && isHopeless(account, entry, presence))) {
      // Where there is room, and no call waits before this one, Redis has not answered in time.
      const isHeld = !mayPass || accounts.some((one) => isBeyond(one, call.call.estimatedPico))
      return hasMoney && isKnown && !presence.isAway && account.view !== null && isHeld
        ? refuseReserved(account)
        : refuseAlone(account)
    }
    answer = 'wait'
  }
  return answer
}

/**
 * Whether a limit is reached for all gateways together, by what was used. If running calls or another gateway only hold
 * it, that is waited for.
 *
 * @param reportedAtMs When this gateway has asked for it last; `null`: it has not yet, for this call.
 */
function refusalByRate(
  holding: RateHolding,
  waiting: WaitingCall,
  reportedAtMs: number | null,
  nowMs: number,
): LimitRefusal | null {
  const need = holding.needOf(waiting.call.estimatedTokens)
  if (holding.settled(nowMs) + need > holding.amount)
    return refuseByRate(holding, holding.retryMs(need, nowMs))
  if (reportedAtMs === null) return null
  const used = holding.used(nowMs)
  const isShort = used + holding.others.used + need > holding.amount
  // Estimates are far above what most calls use: what running calls hold comes free in part when they end.
  if (isShort || (used + need > holding.ceiling && used - holding.pending(nowMs) + need <= holding.ceiling)) {
    waiting.waitsForRunning(nowMs)
    return waiting.waitedMs >= RUNNING_WAIT_MS ? refuseRateReserved(holding) : null
  }
  if (used + need <= holding.ceiling) return null
  // The others have had the time to give back what they do not use.
  const isAsked = reportedAtMs >= waiting.heldSinceMs + RATE_WAIT_MS
  return isAsked && waiting.heldForMs >= RATE_WAIT_MS ? refuseByRate(holding, 0) : null
}

/** Whether the share of this gateway is used up while Redis is away, and no call runs that could give some back. */
function isHopeless(
  account: BudgetAccount,
  { isExchanging }: SubjectEntry,
  { isAway }: RedisPresence,
): boolean {
  return (
    isAway && !isExchanging && account.view !== null && account.reserved === 0n && account.waiting.size <= 1
  )
}

/**
 * Whether waiting jobs leave less than the call needs, by a reading of Postgres that is recent. No running call can
 * change that, and jobs end in hours.
 */
function isHeldByJobs(
  { amount, charged, jobsReserved, view }: BudgetAccount,
  { call }: WaitingCall,
  { subject, exchange }: SubjectEntry,
): boolean {
  if (jobsReserved === 0n || view === null || !view.isExact || charged === null) return false
  if (charged + call.estimatedPico <= amount) return false
  const snapshot = subject.snapshots.find(({ id }) => id === view.snapshotId)
  return snapshot !== undefined && exchange.redisNowMs - snapshot.takenAtMs < RECENT_MS
}

/**
 * Whether a call passes that does not fit, of a budget that says that a gateway goes on alone: nothing can be known, or no
 * call runs beside it while Redis is away.
 */
function passesAlone(
  account: BudgetAccount,
  { call, sinceMs, waitedMs }: WaitingCall,
  { readFailedAtMs, epoch }: SubjectEntry,
  presence: RedisPresence,
): boolean {
  if (account.view === null) {
    account.isOpen = readFailedAtMs >= sinceMs || waitedMs >= UNKNOWN_WAIT_MS
    return account.isOpen
  }
  // Others were asked for long and in vain, and hold nothing that this call would need.
  if (waitedMs >= RUNNING_WAIT_MS && hasRoom(account, call.estimatedPico)) return true
  const isShare = presence.isAway && epoch === presence.epoch && account.hasShare
  return isShare && account.reserved === 0n && account.jobsReserved === 0n && account.used < account.ceiling
}

function isSpent({ view, spent, amount }: BudgetAccount): boolean {
  return view?.isExact === true && spent !== null && spent >= amount
}
