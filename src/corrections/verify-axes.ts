import { type PostgresSession, queryLong } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { AXIS_ROWS, RECOUNT_AXES } from '../usage/axes/recount-axes.ts'
import { type DayPart, partParameters } from '../usage/calls/call-partitions.ts'
import { METERED_COLUMNS } from '../usage/calls/recount.ts'
import { keyWith } from '../usage/daily-key.ts'
import { hasAxes, VALUE_ADJUSTMENTS } from './rebuild-axes.ts'
import type { Difference } from './verify-part.ts'

const COMPARE = `
select client_id, axis, value,
  ${METERED_COLUMNS.map((column) => `u.${column}::text as "u.${column}", c.${column}::text as "c.${column}"`).join(', ')}
from (select * from (${AXIS_ROWS}) u where ${METERED_COLUMNS.map((column) => `u.${column} is not null`).join(' or ')}) u
full join (${RECOUNT_AXES}) c using (client_id, axis, value)
where ${METERED_COLUMNS.map((column) => `u.${column} is distinct from c.${column}`).join(' or ')}
order by client_id, axis, value`

type Row = Readonly<Record<string, string | null>>

/** Holds the totals of a part's values against its calls. */
export async function axesAgainstCalls(session: PostgresSession, part: DayPart): Promise<Difference[]> {
  if (!(await hasAxes(session))) return []
  const { rows } = await queryLong<Row>(session, COMPARE, [...partParameters(part)])
  return rows.flatMap((row) =>
    METERED_COLUMNS.flatMap((column) =>
      differenceOf(part, row, column, row[`u.${column}`], row[`c.${column}`], 'calls'),
    ),
  )
}

const ADJUSTMENTS = `
select a.client_id, a.name as axis, v.value, d.adjusted_pico, d.priced_later, d.entries_pico, d.entries_priced_calls
from (${VALUE_ADJUSTMENTS}) d join ${SCHEMA}.axes a on a.id = d.axis_id join ${SCHEMA}.axis_values v on v.id = d.value_id
order by 1, 2, 3`

/** No axis has more than the whole: the rest is of calls without a value. */
const BEYOND = `
select u.client_id, u.axis, sum(u.requests) as counted, max(d.requests) as requests
from (${AXIS_ROWS}) u
left join lateral (
  select coalesce(sum(d.requests), 0) as requests from ${SCHEMA}.daily_usage d
  where d.day = $1 and d.client_id = u.client_id) d on true
group by u.client_id, u.axis having sum(u.requests) > max(d.requests)`

/** Holds what values have of adjustments against their entries, and each axis against the whole. */
export async function axesAgainstRows(session: PostgresSession, part: DayPart): Promise<Difference[]> {
  if (!(await hasAxes(session))) return []
  const adjusted = await queryLong<Row>(session, ADJUSTMENTS, [...partParameters(part)])
  const beyond = await queryLong<Row>(session, BEYOND, [...partParameters(part)])
  return [
    ...adjusted.rows.flatMap((row) => [
      ...differenceOf(part, row, 'adjusted_pico', row.adjusted_pico, row.entries_pico, 'adjustments'),
      ...differenceOf(part, row, 'priced_later', row.priced_later, row.entries_priced_calls, 'adjustments'),
    ]),
    ...beyond.rows.flatMap((row) =>
      differenceOf(part, row, 'requests', row.counted, row.requests, 'daily_usage'),
    ),
  ]
}

function differenceOf(
  { day }: DayPart,
  row: Row,
  column: string,
  stored: string | null | undefined,
  recomputed: string | null | undefined,
  against: Difference['against'],
): Difference[] {
  if ((stored ?? '0') === (recomputed ?? '0')) return []
  const { client_id: clientId, axis, value } = row
  const named = value === undefined || value === null ? `${axis}` : `${axis}=${value}`
  const key = keyWith({ day, clientId: clientId ?? '' })
  return [
    { key, column: `${column} (${named})`, stored: stored ?? '0', recomputed: recomputed ?? '0', against },
  ]
}
