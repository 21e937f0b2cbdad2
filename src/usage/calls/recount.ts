import { WITHOUT_FIGURES } from '../../call/unpriced-reason.ts'
import { TOKEN_COLUMNS, UNIT_COLUMNS } from '../../call/usage.ts'
import { LATENCY_BOUNDS_US, LATENCY_BUCKETS } from '../../domain/latency.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { KEY_COLUMNS } from '../daily-key.ts'

/** The columns of `daily_usage` that are made of calls alone, each with what makes it, in the order they are told. */
const METERED: readonly (readonly [column: string, expression: string])[] = [
  ['requests', 'count(*) filter (where told_by is null)'],
  ['settlements', 'count(told_by)'],
  ...['reported', 'partial', 'estimated', 'invalid'].map(
    (source) => [source, `count(*) filter (where usage_source = '${source}')`] as const,
  ),
  ['without_usage', `count(*) filter (where usage_source = 'none')`],
  ['unpriced', 'count(*) filter (where cost_pico is null and not settled)'],
  [
    'without_figures',
    `count(*) filter (where cost_pico is null and not settled and unpriced_reason in (${WITHOUT_FIGURES.map((reason) => `'${reason}'`).join(', ')}))`,
  ],
  ['errors', `count(*) filter (where outcome = 'upstream_error' or failed_in_body or status >= 400)`],
  ...[...TOKEN_COLUMNS, ...UNIT_COLUMNS].map(
    (column) => [column, `coalesce(sum(${column}), 0)::bigint`] as const,
  ),
  [
    'estimated_input_tokens',
    `coalesce(sum(input_tokens) filter (where usage_source = 'estimated'), 0)::bigint`,
  ],
  [
    'estimated_output_tokens',
    `coalesce(sum(output_tokens) filter (where usage_source = 'estimated'), 0)::bigint`,
  ],
  ['latency_us_sum', 'coalesce(sum(latency_us), 0)'],
  ['latency_count', 'count(latency_us)'],
  [
    'latency_buckets',
    `array[${Array.from({ length: LATENCY_BUCKETS }, (_, bucket) => `count(*) filter (where bucket = ${bucket})`).join(', ')}]`,
  ],
  ['cost_pico', 'coalesce(sum(cost_pico), 0)'],
]

/** The columns of `daily_usage` that are made of calls alone. */
export const METERED_COLUMNS: readonly string[] = METERED.map(([column]) => column)

/**
 * The rows that the calls of the day `$1` make, with the columns of `daily_usage`. A bound of a bucket is in it, as
 * in src/domain/latency.ts, so a latency is looked for as one microsecond less.
 */
export const RECOUNT = `
select ${KEY_COLUMNS.join(', ')}, min(provider) as provider,
  ${METERED.map(([column, expression]) => `${expression} as ${column}`).join(', ')}
from (
  select client_id, day, key_id, model, upstream, coalesce(price_id, '') as price_id, provider, usage_source,
    outcome, failed_in_body, status, told_by, settled, cost_pico, unpriced_reason, ${[...TOKEN_COLUMNS, ...UNIT_COLUMNS].join(', ')}, latency_us,
    width_bucket(latency_us - 1, '{${LATENCY_BOUNDS_US.join(',')}}'::bigint[]) as bucket
  from (
    select *, case when not web_socket then (latency_ms * 1000)::bigint end as latency_us
    from ${SCHEMA}.calls where day = $1) c) c
group by ${KEY_COLUMNS.join(', ')}`
