import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { KEY, KEY_COLUMNS, KEY_RECORD, keyRowOf } from './daily-key.ts'
import { METRICS, type Metric } from './metrics-table.ts'
import type { DailyTotal } from './total-by-day.ts'

const COLUMNS = [...KEY_COLUMNS, 'provider', ...METRICS.map(({ column }) => column)].join(', ')

const SQL_TYPES = {
  calls: 'bigint',
  tokens: 'bigint',
  units: 'bigint',
  estimated: 'bigint',
  amount: 'numeric',
  histogram: 'bigint[]',
} as const satisfies Readonly<Record<Metric['kind'], string>>

function sumOf({ kind, column }: Metric): string {
  return kind === 'histogram'
    ? `${SCHEMA}.add_counts(u.${column}, excluded.${column})`
    : `u.${column} + excluded.${column}`
}

/** JSON in one parameter costs the worker's CPU half of what an array for each column does. */
const ADD_USAGE = `
insert into ${SCHEMA}.daily_usage as u (${COLUMNS})
select ${COLUMNS} from json_to_recordset($1) as r (
  ${KEY_RECORD}, provider text, ${METRICS.map(({ kind, column }) => `${column} ${SQL_TYPES[kind]}`).join(', ')})
on conflict (${KEY}) do update set
  ${METRICS.map((metric) => `${metric.column} = ${sumOf(metric)}`).join(', ')}`

/**
 * Adds totals to `daily_usage` in one statement.
 *
 * @param totals Each key once, in the order `totalByDay` gives, which is the order rows are locked in.
 */
export async function addUsage(session: PostgresSession, totals: readonly DailyTotal[]): Promise<void> {
  await session.query(ADD_USAGE, [JSON.stringify(totals.map(rowOf))])
}

function rowOf(total: DailyTotal): Readonly<Record<string, string | number>> {
  const row: Record<string, string | number> = { ...keyRowOf(total), provider: total.provider }
  for (const { kind, field, column } of METRICS) {
    if (kind === 'histogram') row[column] = `{${total[field].join(',')}}`
    else if (kind === 'amount') row[column] = total[field].toString()
    else row[column] = total[field]
  }
  return row
}
