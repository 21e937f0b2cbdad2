import type { UtcDay } from '../../domain/utc-day.ts'
import type { UtcMonth } from '../../domain/utc-month.ts'
import { lockPartitions } from '../../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

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

/**
 * As steps of a `with`: the days of the rows `source`, and their months, have no summaries that hold any more.
 * Every statement that writes rows of `daily_usage` has them, or its transaction calls `reopenDays`.
 */
export function reopeningDaysOf(source: string): string {
  return `
reopened_days as (
  delete from ${SCHEMA}.summarised_days where day in (select day from ${source})),
reopened_months as (
  delete from ${SCHEMA}.summarised_months
  where month in (select date_trunc('month', day::timestamp)::date from ${source}))`
}

const REOPEN_DAYS = `
with changed as (select day from unnest($1::date[]) as day),${reopeningDaysOf('changed')}
select`

/**
 * Says that the totals of these days change in this transaction, so that no summaries of them are read. The
 * transaction must hold the locks of the days, shared or not.
 */
export async function reopenDays(session: PostgresSession, days: readonly UtcDay[]): Promise<void> {
  await session.query(REOPEN_DAYS, [days])
}

function monthOf(day: UtcDay): UtcMonth {
  return day.slice(0, 7)
}

/**
 * Sees to it that the totals of these days have a partition, in the caller's transaction. No call may stay
 * uncounted because its journal came late or a clock was wrong, so any day gets one.
 *
 * @param known Months that are known to have one: for them it costs nothing.
 * @returns The months that have one once the transaction is committed, for `known`.
 */
export async function ensureUsageMonths(
  session: PostgresSession,
  days: Iterable<UtcDay>,
  known: ReadonlySet<UtcMonth> = NONE_KNOWN,
): Promise<ReadonlySet<UtcMonth>> {
  const unknown = new Set<UtcMonth>()
  for (const day of days) if (!known.has(monthOf(day))) unknown.add(monthOf(day))
  if (unknown.size === 0) return unknown
  const existing = await selectUsageMonths(session)
  const missing = [...unknown].filter((month) => !existing.has(month)).sort()
  if (missing.length > 0) await addMonths(session, missing)
  return unknown
}

const NONE_KNOWN: ReadonlySet<UtcMonth> = new Set()

const PARTITION = /^daily_latency_(\d{4})(\d{2})$/

/** The months whose totals have a partition: that of the histograms is made last. */
async function selectUsageMonths(session: PostgresSession): Promise<ReadonlySet<UtcMonth>> {
  const { rows } = await session.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = '${SCHEMA}.daily_latency'::regclass`,
  )
  return new Set(
    rows.flatMap(({ name }) => {
      const match = PARTITION.exec(name)
      return match === null ? [] : [`${match[1]}-${match[2]}`]
    }),
  )
}

async function addMonths(session: PostgresSession, months: readonly UtcMonth[]): Promise<void> {
  await lockPartitions(session)
  await session.query(`select ${SCHEMA}.add_usage_months($1::date[])`, [months.map((month) => `${month}-01`)])
}

/** Makes the partitions of this month and the next, by the database's clock. */
export async function addUsageMonths(pool: Postgres): Promise<void> {
  await inTransaction(pool, async (session) => {
    const { rows } = await session.query<{ day: UtcDay }>(
      `select (now() at time zone 'UTC' + months * interval '1 month')::date as day
       from generate_series(0, 1) as months`,
    )
    await ensureUsageMonths(
      session,
      rows.map(({ day }) => day),
    )
  })
}
