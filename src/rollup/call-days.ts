import { addDays, type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import type { Logger } from '../lib/logger.ts'
import { lockPartitions } from '../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres } from '../store/connection/postgres.ts'
import { addCallDay, selectCallDays, selectToday } from '../usage/calls/call-partitions.ts'
import { isPassing } from './rolled-up.ts'

/** The days whose calls are kept, remembered for a while: they change once a day. */
export interface CallDays {
  /** @throws When Postgres is away, or cannot make the partitions just now. */
  all(): Promise<ReadonlySet<UtcDay>>
  /** Discards the days, so that the next call reads them again. */
  invalidate(): void
}

const REMEMBER_MS = 30_000

/**
 * @param retentionDays 0: no call is kept, whatever partitions there are.
 * @param now Milliseconds since 1970, by the clock of calls.
 */
export function createCallDays(
  pool: Postgres,
  retentionDays: number,
  log: Logger,
  now: () => number = Date.now,
): CallDays {
  let days: ReadonlySet<UtcDay> = new Set()
  let readAtMs = Number.NEGATIVE_INFINITY

  /**
   * At the very start, or when Postgres was restored to before the day was created: its calls would be
   * counted but not kept.
   */
  async function addMissing(): Promise<ReadonlySet<UtcDay>> {
    try {
      await addCallDays(pool, retentionDays)
    } catch (error) {
      if (isPassing(error)) throw error
      log.error(
        { event: 'calls.partitions_failed', err: error },
        'the partitions of calls could not be made: calls are counted but not kept',
      )
    }
    return await selectCallDays(pool)
  }

  return {
    async all() {
      if (retentionDays > 0 && performance.now() - readAtMs > REMEMBER_MS) {
        const found = await selectCallDays(pool)
        days = found.has(utcDayOf(now())) ? found : await addMissing()
        readAtMs = performance.now()
      }
      return days
    },
    invalidate() {
      readAtMs = Number.NEGATIVE_INFINITY
    },
  }
}

/** Partitions of `calls` are made so many days ahead. */
const DAYS_AHEAD = 7
/** And so many back at most, for records that a journal kept that long: a long retention need not begin with its past. */
const DAYS_BACK = 35

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
