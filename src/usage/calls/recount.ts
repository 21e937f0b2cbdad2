import { SCHEMA } from '../../store/connection/schema.ts'
import { KEY_COLUMNS, KEY_OF_CALL } from '../daily-key.ts'
import { keptAs, METRICS } from '../metrics-table.ts'
import { inPart } from './call-partitions.ts'

/** The columns of `daily_usage` that are made of calls alone. */
export const METERED_COLUMNS: readonly string[] = METRICS.map(({ column }) => column)

/** The values of these columns in a row without calls. */
export const NOTHING_METERED: readonly string[] = METRICS.map(({ rare }) => (rare ? 'null' : '0'))

/** The condition that a row `u` has calls. */
export const IS_METERED = METRICS.map(({ column }) => `u.${column} <> 0`).join(' or ')

/** The rows that the calls of a part of a day make, with the columns of `daily_usage`; parameters as of `inPart`. */
export const RECOUNT = `
select ${KEY_OF_CALL}, min(provider) as provider,
  ${METRICS.map(({ column, recount }) => `${keptAs(column, recount)} as ${column}`).join(', ')}
from (
  select *, case when not web_socket then (latency_ms * 1000)::bigint end as latency_us
  from ${SCHEMA}.calls c where ${inPart('c')}) c
group by ${KEY_COLUMNS.map((_column, index) => index + 1).join(', ')}`
