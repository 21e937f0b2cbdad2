import { TOKEN_COLUMNS, UNIT_COLUMNS } from '../call/usage.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import type { DailyTotal } from './total-by-day.ts'

const KEY = ['client_id', 'day', 'key_id', 'model', 'upstream', 'price_id'] as const

const COUNTS = [
  'requests',
  'settlements',
  'reported',
  'partial',
  'estimated',
  'without_usage',
  'invalid',
  'unpriced',
  'without_figures',
  'errors',
  ...TOKEN_COLUMNS,
  ...UNIT_COLUMNS,
  'estimated_input_tokens',
  'estimated_output_tokens',
  'latency_count',
] as const

const BIG_SUMS = ['latency_us_sum', 'cost_pico'] as const

const COLUMNS = [...KEY, 'provider', ...COUNTS, ...BIG_SUMS, 'latency_buckets']

const ADD_USAGE = `
insert into ${SCHEMA}.daily_usage as u (${COLUMNS.join(', ')})
select ${COLUMNS.join(', ')} from json_to_recordset($1) as r (
  day date,
  ${[...KEY, 'provider']
    .filter((column) => column !== 'day')
    .map((column) => `${column} text`)
    .join(', ')},
  ${COUNTS.map((column) => `${column} bigint`).join(', ')},
  ${BIG_SUMS.map((column) => `${column} numeric`).join(', ')},
  latency_buckets bigint[])
on conflict (${KEY.join(', ')}) do update set
  ${[...COUNTS, ...BIG_SUMS].map((column) => `${column} = u.${column} + excluded.${column}`).join(', ')},
  latency_buckets = ${SCHEMA}.add_counts(u.latency_buckets, excluded.latency_buckets)`

/**
 * Adds totals to `daily_usage` in one statement.
 *
 * @param totals Each key once, in the order `totalByDay` gives, which is the order rows are locked in.
 */
export async function addUsage(session: PostgresSession, totals: readonly DailyTotal[]): Promise<void> {
  await session.query(ADD_USAGE, [JSON.stringify(totals.map(rowOf))])
}

function rowOf(total: DailyTotal): Readonly<Record<string, string | number>> {
  const row: Record<string, string | number> = {
    client_id: total.clientId,
    day: total.day,
    key_id: total.keyId,
    model: total.model,
    upstream: total.upstream,
    price_id: total.priceId,
    provider: total.provider,
    requests: total.requests,
    settlements: total.settlements,
    reported: total.reported,
    partial: total.partial,
    estimated: total.estimated,
    without_usage: total.withoutUsage,
    invalid: total.invalid,
    unpriced: total.unpriced,
    without_figures: total.withoutFigures,
    errors: total.errors,
    estimated_input_tokens: total.estimatedInputTokens,
    estimated_output_tokens: total.estimatedOutputTokens,
    latency_us_sum: total.latencyUsSum.toString(),
    latency_count: total.latencyCount,
    latency_buckets: `{${total.latencyBuckets.join(',')}}`,
    cost_pico: total.costPico.toString(),
  }
  for (const [index, column] of TOKEN_COLUMNS.entries()) row[column] = total.tokens[index] ?? 0
  for (const [index, column] of UNIT_COLUMNS.entries()) row[column] = total.units[index] ?? 0
  return row
}
