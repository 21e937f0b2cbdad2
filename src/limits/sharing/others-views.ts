import type { BudgetAccount, SpentView } from '../engine/budget-account.ts'
import type { OthersRate, RateHolding } from '../engine/rate-holding.ts'
import { usedByAge, WINDOW_MS } from '../engine/sliding-window.ts'
import { type AccountShare, isAllCounted } from './gateway-field.ts'
import { DEAD_MS, type KnownGateway, type KnownGateways, SILENT_MS } from './known-gateways.ts'
import type { SharedSnapshot } from './spent-snapshots.ts'

/**
 * So long after a period began, a gateway that has heard of it since then needs no reading of Postgres: nothing was spent
 * before, and all is reported.
 */
const YOUNG_MS = 3_600_000

/**
 * What is spent of a budget, from the newest reading of Postgres that every gateway has answered; of a period that has
 * just begun, from what the gateways recorded. Where there is no such reading, as much as may be spent at most: what a
 * gateway has not answered counts as not in the reading.
 *
 * @param snapshots The oldest first.
 * @param wallMs Milliseconds since 1970.
 * @returns `null`: there is none.
 */
export function viewSpent(
  account: BudgetAccount,
  snapshots: readonly SharedSnapshot[],
  others: KnownGateways,
  nowMs: number,
  wallMs: number,
): SpentView | null {
  let cautious: SpentView | null = null
  for (let at = snapshots.length - 1; at >= 0; at -= 1) {
    const snapshot = snapshots[at]
    if (snapshot === undefined) continue
    const view = viewOf(account, snapshot, others, nowMs)
    if (view?.isExact === true) return view
    if (view !== null && (cautious === null || view.base < cautious.base)) cautious = view
  }
  const isYoung = account.isKnownFromStart && wallMs < account.beganAtMs + YOUNG_MS
  return isYoung ? viewOf(account, null, others, nowMs) : cautious
}

function viewOf(
  account: BudgetAccount,
  snapshot: SharedSnapshot | null,
  others: KnownGateways,
  nowMs: number,
): SpentView | null {
  const spent = snapshot === null ? 0n : snapshot.spent.get(account.key)
  if (spent === undefined || (snapshot !== null && !account.counted.has(snapshot.id))) return null
  const waiting = snapshot?.jobs.get(account.key) ?? 0n
  let base = spent + waiting
  let jobs = waiting
  let othersHeld = 0n
  let othersReserved = 0n
  let wants = false
  let gateways = 0
  let isExact = true
  for (const gateway of others.others) {
    const silentMs = nowMs - gateway.reportedAtMs
    if (silentMs < DEAD_MS) gateways += 1
    const share = gateway.field.accounts.get(account.key)
    if (share === undefined) continue
    const counted = countedOf(share, snapshot)
    if (counted === null) isExact = false
    base += share.recorded - (counted ?? share.countedAtLeast.get(snapshot?.id ?? '') ?? 0n)
    jobs += share.jobs - (counted === null ? 0n : jobsCountedOf(share, snapshot))
    if (share.wants && silentMs < SILENT_MS) wants = true
    if (others.hasEnded(gateway)) continue
    othersReserved += share.reserved
    const used = share.recorded + share.reserved
    othersHeld += (share.ceiling > used ? share.ceiling : used) - share.recorded
  }
  return { snapshotId: snapshot?.id ?? '', base, isExact, jobs, othersHeld, othersReserved, wants, gateways }
}

/**
 * What of a gateway's records is in the reading: as it says itself, or all of them, where the committed offset has come
 * to the last one.
 */
function countedOf(share: AccountShare, snapshot: SharedSnapshot | null): bigint | null {
  if (share.recorded === 0n || snapshot === null) return 0n
  const counted = share.counted.get(snapshot.id)
  if (counted !== undefined) return counted
  return isAllCounted(share, snapshot.offsets) ? share.recorded : null
}

/** What of a gateway's jobs is in the reading, of which `countedOf` has said what of its records is. */
function jobsCountedOf(
  { jobs, counted, jobsCounted }: AccountShare,
  snapshot: SharedSnapshot | null,
): bigint {
  if (snapshot === null) return 0n
  return counted.has(snapshot.id) ? (jobsCounted.get(snapshot.id) ?? 0n) : jobs
}

/** What the others hold and use of a limit on requests, tokens or calls at once. */
export function viewRate(
  { limitId, window }: RateHolding,
  others: readonly KnownGateway[],
  nowMs: number,
): OthersRate {
  let held = 0
  let used = 0
  let pending = 0
  let resetMs = 0
  let wants = false
  let gateways = 0
  for (const { field, reportedAtMs } of others) {
    const silentMs = nowMs - reportedAtMs
    const isSilent = silentMs >= SILENT_MS
    if (!isSilent) gateways += 1
    const share = field.rates.get(limitId)
    if (share === undefined || (isSilent && window === null)) continue
    const uses = window === null ? (share.used[0] ?? 0) : usedByAge(share.used, silentMs)
    used += uses
    // Of calls of a gateway that is silent nothing more is heard: what they may use counts as used.
    if (!isSilent) pending += Math.min(share.pending, uses)
    held += isSilent ? uses : Math.max(share.ceiling, uses)
    if (share.wants && !isSilent) wants = true
    if (uses > 0 && window !== null) resetMs = Math.max(resetMs, WINDOW_MS - silentMs)
  }
  return { held, used, pending, resetMs, wants, gateways }
}
