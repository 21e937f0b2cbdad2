import type { UtcDay } from '../src/domain/utc-day.ts'
import { selectCallDays } from '../src/store/call-partitions.ts'
import type { Postgres } from '../src/store/postgres.ts'

/** The days whose calls are kept, remembered for a while: they change once a day. */
export interface CallDays {
  all(): Promise<ReadonlySet<UtcDay>>
  /** Reads them anew the next time. */
  forget(): void
}

const REMEMBER_MS = 30_000

/** @param retentionDays 0: no call is kept, whatever partitions there are. */
export function createCallDays(pool: Postgres, retentionDays: number): CallDays {
  let days: ReadonlySet<UtcDay> = new Set()
  let readAtMs = Number.NEGATIVE_INFINITY

  return {
    async all() {
      if (retentionDays > 0 && performance.now() - readAtMs > REMEMBER_MS) {
        days = await selectCallDays(pool)
        readAtMs = performance.now()
      }
      return days
    },
    forget() {
      readAtMs = Number.NEGATIVE_INFINITY
    },
  }
}
