import type { RedisPresence } from '../sharing/redis-presence.ts'
import type { BudgetAccount } from './budget-account.ts'
import type { ClientEntry } from './client-entry.ts'
import { fitsAccount, fitsRate, hasRoom } from './held-reservation.ts'
import type { LimitRefusal } from './limiter.ts'
import type { RateHolding } from './rate-holding.ts'
import { refuseAlone, refuseByBudget, refuseByRate, refuseRateReserved, refuseReserved } from './refusals.ts'
import type { WaitingCall } from './waiting-calls.ts'

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

/** Limits of which calls before this one have to wait: it must not overtake them. */
export type Blocked = Set<RateHolding | BudgetAccount>

/**
 * What becomes of a call that did not fit at once.
 *
 * @param blocked By the calls that wait before it; those that it waits for are added.
 * @returns `take`: it fits. A refusal. `wait`: neither is sure yet.
 */
export function decideWaiting(
  call: WaitingCall,
  entry: ClientEntry,
  presence: RedisPresence,
  blocked: Blocked,
  nowMs: number,
): 'take' | 'wait' | LimitRefusal {
  if (call.call.client.destroyed) return CLIENT_LEFT
  call.seen(nowMs)
  const { exchange } = entry
  const isKnown =
    presence.isAway || exchange.knownAtMs >= call.sinceMs || nowMs - exchange.knownAtMs < FRESH_MS
  const hasRates = entry.hasRates(call.limits, presence, nowMs)
  const reportedAtMs = presence.isAway ? Number.POSITIVE_INFINITY : exchange.reportedAtMs
  // Before rates: their refusals invite to try again, which is in vain while the budget is spent.
  const spentBudget = isKnown && call.call.estimatedPico > 0n ? call.accounts.find(isSpent) : undefined
  if (spentBudget?.spent != null) return refuseByBudget(spentBudget, spentBudget.spent)
  let answer: 'take' | 'wait' = hasRates ? 'take' : 'wait'
  for (const holding of call.limits.rates) {
    if (hasRates && !blocked.has(holding) && fitsRate(holding, call.call, nowMs)) continue
    const refusal = isKnown ? refusalByRate(holding, call, reportedAtMs, nowMs) : null
    if (refusal !== null) return refusal
    answer = 'wait'
  }
  if (call.call.estimatedPico > 0n)
    for (const account of call.accounts) {
      const sharesAlone = account.limit.whenAlone === 'share'
      const hasMoney = entry.hasMoney(sharesAlone, presence, nowMs)
      const mayPass = !blocked.has(account)
      if (hasMoney && mayPass && fitsAccount(account, call.call.estimatedPico)) continue
      // Redis is back, and it is known in a moment what others hold.
      const isSettling = !presence.isAway && !exchange.isSettled && call.waitedMs < SETTLING_WAIT_MS
      const hasWaited = call.waitedMs >= RUNNING_WAIT_MS && !isSettling
      if (sharesAlone && (hasWaited || (isKnown && mayPass)) && passesAlone(account, call, entry, presence))
        continue
      if (isKnown && isHeldByJobs(account, call, entry)) return refuseReserved(account)
      if (hasWaited || (sharesAlone && isHopeless(account, entry, presence)))
        return hasMoney && isKnown && !presence.isAway && account.view !== null
          ? refuseReserved(account)
          : refuseAlone(account)
      answer = 'wait'
    }
  if (answer === 'wait') block(call, blocked)
  return answer
}

/**
 * Whether a limit is reached for all gateways together, by what was used. If running calls or another gateway only hold
 * it, that is waited for.
 */
function refusalByRate(
  holding: RateHolding,
  waiting: WaitingCall,
  reportedAtMs: number,
  nowMs: number,
): LimitRefusal | null {
  const need = holding.needOf(waiting.call.estimatedTokens)
  if (holding.settled(nowMs) + need > holding.amount)
    return refuseByRate(holding, holding.retryMs(need, nowMs))
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
  { isExchanging }: ClientEntry,
  { isAway }: RedisPresence,
): boolean {
  return isAway && !isExchanging && account.view !== null && account.reserved === 0n && account.waiting <= 1
}

/**
 * Whether waiting jobs leave less than the call needs, by a reading of Postgres that is recent. No running call can
 * change that, and jobs end in hours.
 */
function isHeldByJobs(
  { amount, charged, jobsReserved, view }: BudgetAccount,
  { call }: WaitingCall,
  { client, exchange }: ClientEntry,
): boolean {
  if (jobsReserved === 0n || view === null || !view.isExact || charged === null) return false
  if (charged + call.estimatedPico <= amount) return false
  const snapshot = client.snapshots.find(({ id }) => id === view.snapshotId)
  return snapshot !== undefined && exchange.redisNowMs - snapshot.takenAtMs < RECENT_MS
}

/**
 * Whether a call passes that does not fit, of a budget that says that a gateway goes on alone: nothing can be known, or no
 * call runs beside it while Redis is away.
 */
function passesAlone(
  account: BudgetAccount,
  { call, sinceMs, waitedMs }: WaitingCall,
  { readFailedAtMs, epoch }: ClientEntry,
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

function block(call: WaitingCall, blocked: Blocked): void {
  for (const holding of call.limits.rates) blocked.add(holding)
  for (const account of call.accounts) blocked.add(account)
}
