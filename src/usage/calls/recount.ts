import { LATENCY_BOUNDS_US } from '../../domain/latency.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { KEY_COLUMNS, KEY_OF_CALL } from '../daily-key.ts'
import { METRICS } from '../metrics-table.ts'

/** The columns of `daily_usage` that are made of calls alone. */
export const METERED_COLUMNS: readonly string[] = METRICS.map(({ column }) => column)

/** The values of these columns in a row without calls. */
export const NOTHING_METERED: readonly string[] = METRICS.map(({ kind }) =>
  kind === 'histogram' ? `'{}'` : '0',
)

/** The condition that a row `u` has calls. */
export const IS_METERED = METRICS.filter(({ kind }) => kind !== 'histogram')
  .map(({ column }) => `u.${column} <> 0`)
  .join(' or ')

/**
 * The rows that the calls of the day `$1` make, with the columns of `daily_usage`. A bound of a bucket is in it, as
 * in src/domain/latency.ts, so a latency is looked for as one microsecond less.
 */
export const RECOUNT = `
select ${KEY_OF_CALL}, min(provider) as provider,
  ${METRICS.map(({ column, recount }) => `${recount} as ${column}`).join(', ')}
from (
  select *, width_bucket(latency_us - 1, '{${LATENCY_BOUNDS_US.join(',')}}'::bigint[]) as bucket
  from (
    select *, case when not web_socket then (latency_ms * 1000)::bigint end as latency_us
    from ${SCHEMA}.calls where day = $1) c) c
group by ${KEY_COLUMNS.map((_column, index) => index + 1).join(', ')}`
