import type { UtcDay } from '../../domain/utc-day.ts'
import { type Postgres, sqlErrorOf } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { closeDay } from './close-day.ts'
import { closeMonth } from './close-month.ts'
import { isClosed } from './summarised.ts'

/** What one run has summed up, and what it could not. */
export interface Summed {
  readonly days: readonly UtcDay[]
  /** By their first days. */
  readonly months: readonly UtcDay[]
  /** Days and months that Postgres refused; the next run tries them again. */
  readonly failed: readonly { readonly day: UtcDay; readonly error: Error }[]
  /** Whether nothing was left to do. */
  readonly isDone: boolean
}

/** A day's records have mostly come in by then. Later ones reopen it. */
const CLOSED_AFTER = '30 minutes'

/**
 * Every day of the months with usage, the newest first: a month is summed up once all of its days are, and an
 * empty day costs nothing. The months are found one by one by the index on the day, without reading their rows.
 */
const OPEN_DAYS = `
with recursive months as (
  select date_trunc('month', min(day))::date as month from ${SCHEMA}.daily_usage
  union all
  select (select date_trunc('month', min(day))::date from ${SCHEMA}.daily_usage
    where day >= m.month + interval '1 month')
  from months m where m.month is not null)
select d.day::date as day
from months m, generate_series(m.month, m.month + interval '1 month - 1 day', interval '1 day') d (day)
where d.day + interval '1 day' <= (now() at time zone 'UTC') - interval '${CLOSED_AFTER}'
  and not exists (
    select from ${SCHEMA}.summarised_days s where s.day = d.day and ${isClosed('s')})
order by d.day desc`

const OPEN_MONTHS = `
select date_trunc('month', day)::date as day from ${SCHEMA}.summarised_days s where ${isClosed('s')}
group by 1
having count(*) = extract(day from date_trunc('month', max(day)) + interval '1 month - 1 day')
  and date_trunc('month', max(day))::date not in (select month from ${SCHEMA}.summarised_months)
order by 1 desc`

/**
 * Sums up days and months that are over: all that were never summed up, and those that were reopened.
 *
 * @param limitMs After this time no further day or month is begun.
 * @throws When Postgres is away.
 */
export async function summarise(pool: Postgres, limitMs: number): Promise<Summed> {
  const untilMs = performance.now() + limitMs
  const failed: { readonly day: UtcDay; readonly error: Error }[] = []
  let isDone = true
  const closeAll = async (select: string, close: (pool: Postgres, day: UtcDay) => Promise<boolean>) => {
    const closed: UtcDay[] = []
    const { rows } = await pool.query<{ day: UtcDay }>(select)
    for (const { day } of rows) {
      if (performance.now() > untilMs) {
        isDone = false
        break
      }
      try {
        if (await close(pool, day)) closed.push(day)
        else isDone = false
      } catch (error) {
        const refused = sqlErrorOf(error)
        if (refused === null) throw error
        failed.push({ day, error: refused })
        isDone = false
      }
    }
    return closed
  }
  const days = await closeAll(OPEN_DAYS, closeDay)
  const months = await closeAll(OPEN_MONTHS, closeMonth)
  return { days, months, failed, isDone }
}
