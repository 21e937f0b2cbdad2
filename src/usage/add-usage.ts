import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { KEY_COLUMNS, KEY_RECORD, ROW_KEY } from './daily-key.ts'
import { latencyText } from './days/daily-latency.ts'
import { reopeningDaysOf } from './days/usage-days.ts'
import { KEY_DIMENSIONS } from './dimensions.ts'
import { METRICS, type Metric, sqlTypeOf } from './metrics-table.ts'
import type { DailyTotal } from './total-by-day.ts'

/** Both may be null in a rare column; what is taken back may come to 0, which is null too. */
function sumOf({ column, rare }: Metric): string {
  if (!rare) return `u.${column} + excluded.${column}`
  return `nullif(coalesce(u.${column}, 0) + coalesce(excluded.${column}, 0), 0)`
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
    buckets numeric, first_bytes numeric)),${reopeningDaysOf('r')},
latencies as (
  insert into ${SCHEMA}.daily_latency as l (day, client_id, model, buckets, first_bytes)
  select day, client_id, model, sum(buckets), coalesce(sum(first_bytes), 0) from r where buckets is not null
  group by day, client_id, model order by day, client_id, model
  on conflict (day, client_id, model) do update set
    buckets = l.buckets + excluded.buckets, first_bytes = l.first_bytes + excluded.first_bytes)
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
 * Adds totals to `daily_usage` and `daily_latency` in one statement. A histogram of first bytes that is null stays so:
 * calls were counted without it.
 *
 * @param totals Each key once, in the order `totalByDay` gives, which is the order rows are locked in. The
 * transaction holds the locks of their days, and each has a partition.
 */
export async function addUsage(session: PostgresSession, totals: readonly DailyTotal[]): Promise<void> {
  await session.query(statementFor(totals), [`[${totals.map(rowText).join(',')}]`])
}

const quote = JSON.stringify as (text: string) => string

/** With what a column's value is written behind. */
const KEYS = KEY_DIMENSIONS.map(({ field, column }, index) => ({
  field,
  key: `${index === 0 ? '{' : ','}"${column}":`,
}))
const SUMS = METRICS.map(({ field, column }) => ({ field, key: `,"${column}":` }))

/** The row as JSON, without what is 0. Written directly: an object for `JSON.stringify` costs twice as much. */
function rowText(total: DailyTotal): string {
  let text = ''
  for (const { field, key } of KEYS) text += key + quote(total[field])
  text += `,"provider":${quote(total.provider)}`
  for (const { field, key } of SUMS) {
    const sum = total[field]
    if (sum !== 0 && sum !== 0n) text += key + sum
  }
  const buckets = latencyText(total.latencyBuckets)
  if (buckets === '') return `${text}}`
  const firstBytes = latencyText(total.firstByteBuckets)
  return `${text},"buckets":${buckets}${firstBytes === '' ? '' : `,"first_bytes":${firstBytes}`}}`
}
