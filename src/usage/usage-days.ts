import type { UtcDay } from '../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** One index look-up for each day that there is, however many rows it has. */
const SELECT_DAYS = `
with recursive d as (
  select min(day) as day from ${SCHEMA}.daily_usage where day between $1 and $2
  union all
  select (select min(u.day) from ${SCHEMA}.daily_usage u where u.day > d.day and u.day <= $2) from d
  where d.day is not null)
select day from d where day is not null`

/** The UTC days from `from` to `to`, both included, that have totals; rising. */
export async function selectUsageDays(
  session: Postgres | PostgresSession,
  from: UtcDay,
  to: UtcDay,
): Promise<UtcDay[]> {
  const { rows } = await session.query<{ day: UtcDay }>(SELECT_DAYS, [from, to])
  return rows.map(({ day }) => day)
}
