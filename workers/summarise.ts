import type { Logger } from '../src/lib/logger.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'
import { summarise } from '../src/usage/summaries/summarise.ts'

/** A long past, after an upgrade, takes several runs. */
const LIMIT_MS = 60_000

/** Sums up the days and months that are over, and again those that were written since. */
export async function sumUpDays(pool: Postgres, log: Logger): Promise<void> {
  const { days, months, failed, isDone } = await summarise(pool, LIMIT_MS)
  for (const { day, error } of failed) {
    log.warn(
      { event: 'summaries.failed', day, err: error },
      'a day or month cannot be summed up: answers about it read every row of it',
    )
  }
  if (days.length > 0 || months.length > 0) {
    const context = { days: days.length, months: months.length, isDone }
    log.info({ event: 'summaries.written', ...context }, 'days and months that are over were summed up')
  }
}
