import type { UtcDay } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

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
