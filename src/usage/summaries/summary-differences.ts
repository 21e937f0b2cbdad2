import { firstOfMonth, firstOfNextMonth } from '../../domain/period.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { queryLong } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { selectSummarised } from './summarised.ts'
import { ALL_TABLES, columnsIn, columnsOfFields, type SummaryTables, sumsIn } from './summary-tables.ts'
import { selectUnpricedRowDifferences, UNPRICED_ROWS } from './unpriced-rows.ts'

/** A sum of a day or a month that is not what its rows add up to, both as text; `null`: there is no row. */
export interface SummaryDifference {
  readonly table: string
  /** The day, or the first one of the month. */
  readonly day: UtcDay
  /** What the row is the sums of, by column. */
  readonly key: Readonly<Record<string, string | null>>
  readonly column: string
  readonly stored: string | null
  readonly recomputed: string | null
}

/** At most so many rows are named of each table. */
const NAMED_ROWS = 100

/**
 * Holds the sums of a closed day against its rows of `daily_usage`; with the last day of a month also those
 * of the month, if it is closed, against its days. A day that is not closed has nothing to hold.
 *
 * @param session In a transaction of one snapshot.
 */
export async function selectSummaryDifferences(
  session: PostgresSession,
  day: UtcDay,
): Promise<readonly SummaryDifference[]> {
  const month = firstOfMonth(day)
  const { days, months } = await selectSummarised(session, { fromDay: month, toDay: day }, 'whole')
  const differences: SummaryDifference[] = []
  for (const tables of days.has(day) ? ALL_TABLES : []) {
    if (tables.days === null) continue
    differences.push(...(await compare(session, tables.days, tables, tables.of, day, day)))
  }
  if (days.has(day)) {
    const unpriced = await selectUnpricedRowDifferences(session, day, NAMED_ROWS)
    differences.push(...unpriced.map((difference) => ({ table: UNPRICED_ROWS, day, ...difference })))
  }
  const isLast = firstOfNextMonth(day) === addDays(day, 1)
  for (const tables of isLast && months.has(month) ? ALL_TABLES : []) {
    const source = tables.days ?? tables.of
    differences.push(...(await compare(session, tables.months, tables, source, month, day)))
  }
  return differences
}

/** Compares the rows of a table for the day `$1` with the sums of its source from `$1` to `$2`. */
async function compare(
  session: PostgresSession,
  table: string,
  tables: SummaryTables,
  source: string,
  fromDay: UtcDay,
  toDay: UtcDay,
): Promise<readonly SummaryDifference[]> {
  const kept = columnsOfFields(tables.by)
  const columns = columnsIn(tables)
  const sums = sumsIn(tables, source)
  const { rows } = await queryLong<Readonly<Record<string, string | null>>>(
    session,
    `select ${[
      ...kept.map((column) => `coalesce(s.${column}, r.${column}) as "${column}"`),
      ...columns.map((column) => `s.${column}::text as "s.${column}", r.${column}::text as "r.${column}"`),
    ].join(', ')}
     from (select * from ${SCHEMA}.${table} where day = $1) s
     full join (
       select ${[...kept, ...sums.map((sum, index) => `${sum} as ${columns[index]}`)].join(', ')}
       from ${SCHEMA}.${source} u where u.day between $1 and $2
       ${kept.length === 0 ? 'having count(*) > 0' : `group by ${kept.join(', ')}`}) r
     on ${kept.length === 0 ? 'true' : kept.map((column) => `s.${column} = r.${column}`).join(' and ')}
     where ${columns.map((column) => `s.${column} is distinct from r.${column}`).join(' or ')}
     order by ${[...kept.map((_, index) => index + 1), '1'].join(', ')} limit ${NAMED_ROWS}`,
    [fromDay, toDay],
  )
  return rows.flatMap((row) =>
    columns.flatMap((column): SummaryDifference[] => {
      const [stored = null, recomputed = null] = [row[`s.${column}`], row[`r.${column}`]]
      if (stored === recomputed) return []
      const key = Object.fromEntries(kept.map((name) => [name, row[name] ?? null]))
      return [{ table, day: fromDay, key, column, stored, recomputed }]
    }),
  )
}
