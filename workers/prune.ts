import { addDays, type UtcDay } from '../src/domain/utc-day.ts'
import { pruneObjects } from '../src/objects/table/objects-table.ts'
import { addCallDays } from '../src/rollup/call-days.ts'
import { tryLockPruning } from '../src/store/connection/advisory-locks.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'
import {
  dropCallDay,
  finishDroppedCallDays,
  selectCallDays,
  selectToday,
} from '../src/usage/calls/call-partitions.ts'
import { pruneResponses } from '../src/usage/calls/responses.ts'
import { addUsageMonths } from '../src/usage/days/usage-months.ts'

/** Longer than any provider keeps a stored response (30 days). */
const RESPONSE_DAYS = 40

export interface Pruned {
  readonly added: readonly UtcDay[]
  readonly dropped: readonly UtcDay[]
  readonly responsesPruned: number
  readonly objectsPruned: number
}

/**
 * The daily work: creates partitions ahead, drops those older than `retentionDays`, deletes old response ids.
 * `null`: another process is doing it.
 */
export async function prune(pool: Postgres, retentionDays: number): Promise<Pruned | null> {
  await addUsageMonths(pool)
  const added = await addCallDays(pool, retentionDays)
  const session = await pool.connect()
  try {
    if (!(await tryLockPruning(session))) return null
    const dropped = await finishDroppedCallDays(session)
    const oldest = addDays(await selectToday(session), -retentionDays)
    for (const day of [...(await selectCallDays(session))].sort()) {
      if (retentionDays > 0 && day >= oldest) continue
      await dropCallDay(session, day)
      dropped.push(day)
    }
    return {
      added,
      dropped,
      responsesPruned: await pruneResponses(session, RESPONSE_DAYS),
      objectsPruned: await pruneObjects(session, RESPONSE_DAYS),
    }
  } finally {
    // Ends the session and its lock.
    session.release(true)
  }
}
