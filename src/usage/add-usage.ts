import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { KEY_COLUMNS, KEY_RECORD, keyRowOf, ROW_KEY } from './daily-key.ts'
import { latencyText } from './days/daily-latency.ts'
import { reopeningDaysOf } from './days/reopen-days.ts'
import { METRICS, type Metric, sqlTypeOf } from './metrics-table.ts'
import type { DailyTotal } from './total-by-day.ts'

/** Both may be null in a rare column; a count that is taken back may come to 0, which is null too. */
function sumOf(metric: Metric): string {
  const { column } = metric
  if (!metric.rare) return `u.${column} + excluded.${column}`
  if (metric.kind === 'calls' && metric.untilSettled)
    return `nullif(coalesce(u.${column}, 0) + coalesce(excluded.${column}, 0), 0)`
  return `coalesce(u.${column} + excluded.${column}, u.${column}, excluded.${column})`
}

/**
 * One statement for the totals, their histograms, and the summaries that no longer hold. Corrections keep its
 * order: the CTE comes after the rows of `daily_usage`, whose order is that of the records.
 *
 * JSON in one parameter costs the worker's CPU half of what an array for each column does.
 */
function buildStatement(metrics: readonly Metric[]): string {
  const columns = [...KEY_COLUMNS, 'provider', ...metrics.map(({ column }) => column)].join(', ')
  const values = metrics.map(({ column, rare }) => (rare ? column : `coalesce(${column}, 0)`))
  return `
with r as (
  select * from json_to_recordset($1) as r (
    ${KEY_RECORD}, provider text, ${metrics.map((metric) => `${metric.column} ${sqlTypeOf(metric)}`).join(', ')},
    buckets numeric)),${reopeningDaysOf('r')},
latencies as (
  insert into ${SCHEMA}.daily_latency as l (day, client_id, model, buckets)
  select day, client_id, model, sum(buckets) from r where buckets is not null
  group by day, client_id, model order by day, client_id, model
  on conflict (day, client_id, model) do update set buckets = l.buckets + excluded.buckets)
insert into ${SCHEMA}.daily_usage as u (${columns})
select ${[...KEY_COLUMNS, 'provider', ...values].join(', ')} from r
on conflict (${ROW_KEY}) do update set
  ${metrics.map((metric) => `${metric.column} = ${sumOf(metric)}`).join(', ')}`
}

const RARE = METRICS.filter(({ rare }) => rare)

/** By the rare columns in them: each column costs Postgres, and a batch has few of them. */
const STATEMENTS = new Map<string, string>()
const MAX_STATEMENTS = 100

function statementFor(totals: readonly DailyTotal[]): string {
  const used = RARE.filter(({ field }) => totals.some((total) => total[field] !== 0))
  const name = used.map(({ column }) => column).join()
  const known = STATEMENTS.get(name)
  if (known !== undefined) return known
  const statement = buildStatement(METRICS.filter((metric) => !metric.rare || used.includes(metric)))
  if (STATEMENTS.size >= MAX_STATEMENTS) STATEMENTS.clear()
  STATEMENTS.set(name, statement)
  return statement
}

/**
 * Adds totals to `daily_usage` and `daily_latency` in one statement.
 *
 * @param totals Each key once, in the order `totalByDay` gives, which is the order rows are locked in. The
 * transaction holds the locks of their days, and each has a partition.
 */
export async function addUsage(session: PostgresSession, totals: readonly DailyTotal[]): Promise<void> {
  await session.query(statementFor(totals), [JSON.stringify(totals.map(rowOf))])
}

/** Without what is 0. */
function rowOf(total: DailyTotal): Readonly<Record<string, string | number>> {
  const row: Record<string, string | number> = { ...keyRowOf(total), provider: total.provider }
  for (const { kind, field, column } of METRICS) {
    if (kind === 'amount') {
      if (total[field] !== 0n) row[column] = total[field].toString()
    } else if (total[field] !== 0) row[column] = total[field]
  }
  const buckets = latencyText(total.latencyBuckets)
  if (buckets !== '') row.buckets = buckets
  return row
}
