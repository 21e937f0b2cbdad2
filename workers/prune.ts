import { addDays, type UtcDay } from '../src/domain/utc-day.ts'
import { forgetObjects } from '../src/objects/objects-table.ts'
import { inTransaction, type Postgres } from '../src/store/connection/postgres.ts'
import { lockPartitions, tryLockPruning } from '../src/store/connection/prune-locks.ts'
import {
  addCallDay,
  dropCallDay,
  finishDroppedCallDays,
  selectCallDays,
  selectToday,
} from '../src/usage/calls/call-partitions.ts'
import { forgetResponses } from '../src/usage/calls/responses.ts'

/** Partitions of `calls` are made so many days ahead. */
const DAYS_AHEAD = 7
/** And so many back at most, for records that a journal kept that long: a long retention need not begin with its past. */
const DAYS_BACK = 35
/** Longer than any provider lets a stored response be fetched again (30 days). */
const RESPONSE_DAYS = 40

/**
 * Makes the partitions of `calls` for the days ahead and for past days that are kept. Two at once are safe.
 *
 * @returns The days made now.
 */
export async function addCallDays(pool: Postgres, retentionDays: number): Promise<UtcDay[]> {
  if (retentionDays === 0) return []
  return await inTransaction(pool, async (session) => {
    await lockPartitions(session)
    const today = await selectToday(session)
    const existing = await selectCallDays(session)
    const missing: UtcDay[] = []
    for (let offset = -Math.min(retentionDays, DAYS_BACK); offset <= DAYS_AHEAD; offset += 1) {
      const day = addDays(today, offset)
      if (!existing.has(day)) missing.push(day)
    }
    for (const day of missing) await addCallDay(session, day)
    return missing
  })
}

export interface Pruned {
  readonly added: readonly UtcDay[]
  readonly dropped: readonly UtcDay[]
  readonly responsesForgotten: number
  readonly objectsForgotten: number
}

/**
 * The daily work: partitions ahead made, those older than `retentionDays` dropped, old response ids forgotten.
 * `null`: another process is at it.
 */
export async function prune(pool: Postgres, retentionDays: number): Promise<Pruned | null> {
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
      responsesForgotten: await forgetResponses(session, RESPONSE_DAYS),
      objectsForgotten: await forgetObjects(session, RESPONSE_DAYS),
    }
  } finally {
    // Ends the session, and with it the lock that is the session's.
    session.release(true)
  }
}
