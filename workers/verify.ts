import { verifyLedger } from '../src/corrections/verify.ts'
import type { UtcDay } from '../src/domain/utc-day.ts'
import type { Logger } from '../src/lib/logger.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'
import { selectCallDays } from '../src/usage/calls/call-partitions.ts'

/** Differences listed in the log; `ledger verify` lists all. */
const NAMED = 20

/** What the audit has found. */
export interface FoundDifferences {
  /** How many of them are named. */
  readonly differences: number
  /** The first day that was looked at. */
  readonly since: UtcDay
}

/**
 * The nightly audit: recomputes the totals of the days whose calls are kept, as far as they changed since they
 * were found right, and each of them once a week. Differences are logged as errors.
 *
 * @returns `null`: there are none.
 */
export async function verify(pool: Postgres, log: Logger): Promise<FoundDifferences | null> {
  const [oldest] = [...(await selectCallDays(pool))].sort()
  if (oldest === undefined) {
    log.info({ event: 'verify.not_checked' }, 'no calls are kept: totals are held against nothing')
    return null
  }
  const verified = await verifyLedger(pool, oldest, { changedOnly: true })
  const { differences, proof, rows, calls, unchangedDays, notChecked } = verified
  for (const { day, requests, calls: kept } of notChecked.slice(0, NAMED)) {
    log.warn(
      { event: 'verify.not_checked', day, requests: Number(requests), calls: Number(kept) },
      'not all calls of a day are kept: its totals were held against prices and adjustments alone',
    )
  }
  for (const { key, column, stored, recomputed, against } of differences.slice(0, NAMED)) {
    log.error(
      { event: 'verify.row_differs', ...key, column, stored, recomputed, against },
      'a total differs from what it is made of',
    )
  }
  if (proof.totals !== proof.counted) {
    const { counted, totals } = proof
    log.error(
      { event: 'verify.requests_differ', counted: `${counted}`, totals: `${totals}` },
      'committed offsets and totals differ in the number of requests',
    )
  }
  const isRight = differences.length === 0 && proof.totals === proof.counted
  const context = {
    differences: differences.length,
    rows,
    calls: Number(calls),
    since: oldest,
    unchangedDays: unchangedDays.length,
  }
  if (isRight)
    log.info(
      { event: 'verify.passed', ...context },
      'verified: the totals equal what calls, prices and adjustments make',
    )
  else
    log.error(
      { event: 'verify.failed', ...context },
      'totals differ from what they are made of: see ledger verify',
    )
  return isRight ? null : { differences: differences.length, since: oldest }
}
