import { addCallDays } from '../../workers/prune.ts'
import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import type { Postgres, StoreLog } from '../store/connection/postgres.ts'
import { selectCallDays } from '../usage/calls/call-partitions.ts'
import { isPassing } from './refusal.ts'

/** The days whose calls are kept, remembered for a while: they change once a day. */
export interface CallDays {
  /** @throws When Postgres is away, or cannot make the partitions just now. */
  all(): Promise<ReadonlySet<UtcDay>>
  /** Reads them anew the next time. */
  forget(): void
}

const REMEMBER_MS = 30_000

/** @param retentionDays 0: no call is kept, whatever partitions there are. */
export function createCallDays(pool: Postgres, retentionDays: number, log: StoreLog): CallDays {
  let days: ReadonlySet<UtcDay> = new Set()
  let readAtMs = Number.NEGATIVE_INFINITY

  /** At the very start, or Postgres went back behind the day's making: its calls would be counted but not kept. */
  async function addMissing(): Promise<ReadonlySet<UtcDay>> {
    try {
      await addCallDays(pool, retentionDays)
    } catch (error) {
      if (isPassing(error)) throw error
      log.error({ err: error }, 'the partitions of calls could not be made: calls are counted but not kept')
    }
    return await selectCallDays(pool)
  }

  return {
    async all() {
      if (retentionDays > 0 && performance.now() - readAtMs > REMEMBER_MS) {
        const found = await selectCallDays(pool)
        days = found.has(utcDayOf(Date.now())) ? found : await addMissing()
        readAtMs = performance.now()
      }
      return days
    },
    forget() {
      readAtMs = Number.NEGATIVE_INFINITY
    },
  }
}
