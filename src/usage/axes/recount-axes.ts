import { OTHER_VALUES } from '../../call/axes.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { METRICS } from '../metrics-table.ts'

/**
 * The condition that a row is of the day `$1` and, by its client, in the part `$3` of `$2`: values are totalled over
 * models, so all of a client's are in one part.
 */
export function inClientPart(day: string, clientId: string): string {
  return `${day} = $1 and ($2::int = 1 or (hashtext(${clientId}) & 2147483647) % $2::int = $3::int)`
}

/** A line of `calls.axes` in its parts. */
const LINES = `
select split_part(ltrim(line, '~'), '=', 1) as axis,
  case when line like '~%' then '${OTHER_VALUES}' else substr(line, strpos(line, '=') + 1) end as value
from string_to_table(c.axes, chr(10)) line where line not like '-%'`

/** The sums by value that the calls of such a part make, with the columns of `axis_usage`. */
export const RECOUNT_AXES = `
select c.client_id, e.axis, e.value,
  ${METRICS.map(({ column, recount }) => `nullif(${recount}, 0) as ${column}`).join(', ')}
from (
  select *, case when not web_socket then (latency_ms * 1000)::bigint end as latency_us
  from ${SCHEMA}.calls c where c.axes is not null and ${inClientPart('c.day', 'c.client_id')}) c
cross join lateral (${LINES}) e
group by 1, 2, 3`

/** The rows of totals of such a part, with their names. */
export const AXIS_ROWS = `
select a.client_id, a.name as axis, v.value, u.*
from ${SCHEMA}.axis_usage u join ${SCHEMA}.axes a on a.id = u.axis_id join ${SCHEMA}.axis_values v on v.id = u.value_id
where ${inClientPart('u.day', 'a.client_id')}`
