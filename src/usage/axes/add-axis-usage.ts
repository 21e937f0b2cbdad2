import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { METRICS, type Metric, sqlTypeOf } from '../metrics-table.ts'
import type { AxisKey, AxisTotal } from '../total-by-day.ts'

/** The columns of {@link AxisKey}, as `json_to_recordset` wants them. */
export const AXIS_RECORD = 'day date, client_id text, axis text, value text'

/**
 * The joins from rows `r` with these columns to the numbers of their axes `a` and values `v`. `offset 0` keeps Postgres
 * from joining in another way than by the index: for values that it has no statistics of it would read all for each row.
 */
export const JOIN_VALUES = `
cross join lateral (
  select a.id from ${SCHEMA}.axes a where a.client_id = r.client_id and a.name = r.axis offset 0) a
cross join lateral (
  select v.id from ${SCHEMA}.axis_values v where v.axis_id = a.id and v.value = r.value offset 0) v`

const ADD_AXES = `
insert into ${SCHEMA}.axes (client_id, name)
select r.client_id, r.axis from (
  select distinct client_id, axis from json_to_recordset($1) as r (${AXIS_RECORD})) r
left join lateral (
  select a.id from ${SCHEMA}.axes a where a.client_id = r.client_id and a.name = r.axis offset 0) a on true
where a.id is null order by 1, 2 on conflict do nothing`

const ADD_VALUES = `
insert into ${SCHEMA}.axis_values (axis_id, value)
select a.id, r.value from (
  select distinct client_id, axis, value from json_to_recordset($1) as r (${AXIS_RECORD})) r
cross join lateral (
  select a.id from ${SCHEMA}.axes a where a.client_id = r.client_id and a.name = r.axis offset 0) a
left join lateral (
  select v.id from ${SCHEMA}.axis_values v where v.axis_id = a.id and v.value = r.value offset 0) v on true
where v.id is null order by 1, 2 on conflict do nothing`

/**
 * Sees to it that axes and values have numbers, in the order in which rows are locked.
 *
 * @param json Rows with the columns of `AXIS_RECORD`.
 */
export async function ensureValues(session: PostgresSession, json: string): Promise<void> {
  await session.query(ADD_AXES, [json])
  await session.query(ADD_VALUES, [json])
}

export function axisKeyRow({ day, clientId, axis, value }: AxisKey) {
  return { day, client_id: clientId, axis, value }
}

/**
 * Adds totals to `axis_usage`. The transaction holds the locks of their days.
 *
 * @param totals Each key once.
 * @throws When a row was not written, so that the axis would not add up.
 */
export async function addAxisUsage(session: PostgresSession, totals: readonly AxisTotal[]): Promise<void> {
  if (totals.length === 0) return
  const metrics = METRICS.filter(
    ({ field, rare }) => !rare || totals.some((total) => Number(total[field]) !== 0),
  )
  const rows = totals.map((total) => {
    const row: Record<string, string | number> = axisKeyRow(total)
    for (const { field, column } of metrics) {
      const sum = total[field]
      // JSON has no bigints; Postgres reads numbers in quotes.
      if (sum !== 0 && sum !== 0n) row[column] = typeof sum === 'bigint' ? `${sum}` : sum
    }
    return row
  })
  const json = JSON.stringify(rows)
  await ensureValues(session, json)
  const { rowCount } = await session.query(statementFor(metrics), [json])
  if (rowCount !== totals.length) throw new Error('a value on an axis has no row of totals')
}

function statementFor(metrics: readonly Metric[]): string {
  const columns = metrics.map(({ column }) => `, ${column}`).join('')
  const sums = metrics.map(
    ({ column }) => `${column} = nullif(coalesce(u.${column}, 0) + coalesce(excluded.${column}, 0), 0)`,
  )
  return `
insert into ${SCHEMA}.axis_usage as u (day, axis_id, value_id${columns})
select r.day, a.id, v.id${columns}
from json_to_recordset($1) as r (${AXIS_RECORD}${metrics.map((metric) => `, ${metric.column} ${sqlTypeOf(metric)}`).join('')})
${JOIN_VALUES}
order by a.id, r.day, v.id
on conflict (axis_id, day, value_id) do update set ${sums.join(', ')}`
}
