import { firstOfNextMonth, type Period } from '../../domain/period.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** From where each day of a period is read, so that each is read once. */
export interface Cover {
  /** The first days of months that are summed up and lie in the period as a whole. */
  readonly months: readonly UtcDay[]
  /** Other days that are summed up. */
  readonly days: readonly UtcDay[]
  /** All others: from `daily_usage`. */
  readonly rest: readonly UtcDay[]
}

/** Days and months that are summed up. */
export interface Summarised {
  readonly days: ReadonlySet<UtcDay>
  /** By their first days. */
  readonly months: ReadonlySet<UtcDay>
}

/**
 * The condition that the row `alias` of `summarised_days` is of a day that is closed. One that a release before
 * 0017 has closed lacks its unpriced rows, and is closed again.
 */
export function isClosed(alias: string): string {
  return `${alias}.closed_at is not null and ${alias}.unpriced_rows is not null`
}

/**
 * The form of sums that releases from 0039 on write: with tokens by class, and with latencies. Older ones are whole
 * for all that lack these, and are summed up again.
 */
export const FORM = 2

/** The condition that the row `alias`, of a day or a month, is of sums in that form. */
export function isOfForm(alias: string): string {
  return `${alias}.form >= ${FORM}`
}

export const NOTHING_SUMMARISED: Summarised = { days: new Set(), months: new Set() }

/**
 * What is summed up in the period just now. It may be reopened at any time: see `areSummarised`.
 *
 * @param form `whole`: only sums that have every column and every table.
 */
export async function selectSummarised(
  session: Postgres | PostgresSession,
  { fromDay, toDay }: Period,
  form: 'any' | 'whole' = 'any',
): Promise<Summarised> {
  const isWanted = form === 'any' ? '' : `and ${isOfForm('s')}`
  const { rows } = await session.query<{ day: UtcDay; is_month: boolean }>(
    `select day, false as is_month from ${SCHEMA}.summarised_days s
     where day between $1 and $2 and ${isClosed('s')} ${isWanted}
     union all select month, true from ${SCHEMA}.summarised_months s where month between $1 and $2 ${isWanted}`,
    [fromDay, toDay],
  )
  const of = (isMonth: boolean) =>
    new Set(rows.filter((row) => row.is_month === isMonth).map(({ day }) => day))
  return { days: of(false), months: of(true) }
}

/**
 * Whether these months and days are summed up, in SQL. It stands in the statement that reads their sums, and so
 * in its snapshot: a writer deletes the markers in the transaction that changes a day.
 *
 * @param months The place of a parameter.
 * @param days The same.
 */
export function areSummarised(months: string, days: string): string {
  return `(
  (select count(*) from ${SCHEMA}.summarised_months where month = any(${months}::date[]))
    = cardinality(${months}::date[])
  and (select count(*) from ${SCHEMA}.summarised_days s where day = any(${days}::date[]) and ${isClosed('s')})
    = cardinality(${days}::date[]))`
}

/** Takes months where they are summed up as a whole, else days where they are. */
export function coverPeriod({ fromDay, toDay }: Period, { days, months }: Summarised): Cover {
  const cover = { months: [] as UtcDay[], days: [] as UtcDay[], rest: [] as UtcDay[] }
  for (let day = fromDay; day <= toDay; ) {
    const nextMonth = firstOfNextMonth(day)
    if (months.has(day) && addDays(nextMonth, -1) <= toDay) {
      cover.months.push(day)
      day = nextMonth
    } else {
      if (days.has(day)) cover.days.push(day)
      else cover.rest.push(day)
      day = addDays(day, 1)
    }
  }
  return cover
}

/**
 * The requests of all days, in SQL, as one expression: in whatever statement it stands, it is of that one
 * snapshot.
 */
export const ALL_REQUESTS = `(
  select coalesce(sum(requests), 0) from (
    select requests from ${SCHEMA}.usage_months u
    where exists (select from ${SCHEMA}.summarised_months s where s.month = u.day)
    union all
    select requests from ${SCHEMA}.usage_days u
    where exists (select from ${SCHEMA}.summarised_days s where s.day = u.day and ${isClosed('s')})
      and not exists (
        select from ${SCHEMA}.summarised_months s where s.month = date_trunc('month', u.day::timestamp)::date)
    union all
    select requests from ${SCHEMA}.daily_usage u where u.day = any(array(
      select d.day::date from generate_series(
        (select min(day) from ${SCHEMA}.daily_usage)::timestamp,
        (select max(day) from ${SCHEMA}.daily_usage)::timestamp, interval '1 day') d (day)
      where not exists (
        select from ${SCHEMA}.summarised_days s where s.day = d.day::date and ${isClosed('s')})
      and not exists (
        select from ${SCHEMA}.summarised_months s where s.month = date_trunc('month', d.day)::date)))) a)`
