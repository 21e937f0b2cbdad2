import type { UtcDay } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { queryLong } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { columnsOfFields, SUMMARY_COLUMNS, SUMMARY_TABLES, type SummaryTables } from './summary-tables.ts'

const COLUMNS = SUMMARY_COLUMNS.map(({ column }) => column)

/** The sums of rows `u` of `daily_usage`. */
export const SUMS_OF_ROWS = SUMMARY_COLUMNS.map(({ ofRow, isRare }) =>
  isRare ? `nullif(sum(${ofRow}), 0)` : `sum(${ofRow})`,
)

/** The sums of rows `u` of sums. */
export const SUMS_OF_SUMS = SUMMARY_COLUMNS.map(({ column, isRare }) =>
  isRare ? `nullif(sum(u.${column}), 0)` : `sum(u.${column})`,
)

/** Those that others are made of come first. */
const IN_ORDER = SUMMARY_TABLES.toReversed()

/** Writes the sums of the rows of a table, over the days from `$1` to `$2`, as those of the day `$1`. */
function insertInto(table: string, { by }: SummaryTables, from: string, sums: readonly string[]): string {
  const kept = columnsOfFields(by)
  // In the order of the key: all that a client asks for lies on few pages.
  const grouping =
    kept.length === 0 ? 'having count(*) > 0' : `group by ${kept.join(', ')} order by ${kept.join(', ')}`
  return `insert into ${SCHEMA}.${table} (${[...kept, 'day', ...COLUMNS].join(', ')})
    select ${[...kept, '$1::date', ...sums].join(', ')} from ${SCHEMA}.${from} u
    where u.day between $1 and $2 ${grouping}`
}

const DAY_STATEMENTS = IN_ORDER.flatMap((tables) => {
  const { days, from } = tables
  if (days === null) return []
  const source = from?.days ?? 'daily_usage'
  return [
    `delete from ${SCHEMA}.${days} where day between $1 and $2`,
    insertInto(days, tables, source, from === null ? SUMS_OF_ROWS : SUMS_OF_SUMS),
  ]
})

const MONTH_STATEMENTS = IN_ORDER.flatMap((tables) => {
  const { days, months } = tables
  return [
    `delete from ${SCHEMA}.${months} where day between $1 and $2`,
    insertInto(months, tables, days ?? 'daily_usage', days === null ? SUMS_OF_ROWS : SUMS_OF_SUMS),
  ]
})

/** Replaces the sums of a day by those of its rows. */
export async function writeDay(session: PostgresSession, day: UtcDay): Promise<void> {
  for (const statement of DAY_STATEMENTS) await queryLong(session, statement, [day, day])
}

/** Replaces the sums of a month by those of its days. One sum is of its rows, which may be millions, and takes long. */
export async function writeMonth(session: PostgresSession, firstDay: UtcDay, lastDay: UtcDay): Promise<void> {
  for (const statement of MONTH_STATEMENTS) await queryLong(session, statement, [firstDay, lastDay])
}
