import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { lockClosing, lockDays } from '../../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { lockPrices } from '../price-definitions.ts'
import { firstOfNextMonth, isClosed } from './summarised.ts'
import { writeMonth } from './write-summaries.ts'

/**
 * Sums a month up whose days are closed. As with days, no roll-up waits for it.
 *
 * @param month Its first day.
 * @returns `false`: not all days are closed, or one was reopened meanwhile.
 */
export async function closeMonth(pool: Postgres, month: UtcDay): Promise<boolean> {
  const lastDay = addDays(firstOfNextMonth(month), -1)
  return await inTransaction(pool, async (session) => {
    // 1. One at a time.
    await lockClosing(session, 'month', month)
    const attempts = await selectAttempts(session, month, lastDay)
    const days = attempts.map(({ day }) => day)
    if (days.length < Number(lastDay.slice(-2))) return false
    // 2. The sums of what these attempts have summed up, or of more, and then 3 fails.
    await writeMonth(session, month, lastDay)
    // 3. The writers until here are through, and those after it find the marker. So are definitions of prices,
    // where one that comes reopens a day.
    await lockDays(session, days)
    if (attempts.some(({ has_unknown }) => has_unknown)) await lockPrices(session)
    const still = new Set((await selectAttempts(session, month, lastDay)).map(({ attempt }) => attempt))
    if (attempts.some(({ attempt }) => !still.has(attempt))) return false
    await session.query(
      `insert into ${SCHEMA}.summarised_months (month) values ($1) on conflict do nothing`,
      [month],
    )
    return true
  })
}

interface Attempt {
  readonly day: UtcDay
  readonly attempt: string
  readonly has_unknown: boolean
}

/** The closed days, rising. */
async function selectAttempts(
  session: PostgresSession,
  fromDay: UtcDay,
  toDay: UtcDay,
): Promise<readonly Attempt[]> {
  const { rows } = await session.query<Attempt>(
    `select day, attempt, unknown_prices is not null as has_unknown from ${SCHEMA}.summarised_days s
     where day between $1 and $2 and ${isClosed('s')} order by day`,
    [fromDay, toDay],
  )
  return rows
}
