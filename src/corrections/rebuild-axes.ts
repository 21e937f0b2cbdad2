import { type PostgresSession, queryLong } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { AXIS_ROWS, inClientPart, RECOUNT_AXES } from '../usage/axes/recount-axes.ts'
import { type DayPart, partParameters } from '../usage/calls/call-partitions.ts'
import { METERED_COLUMNS } from '../usage/calls/recount.ts'

const RECOUNTED = `with c as materialized (${RECOUNT_AXES})`

const ADD_AXES = `
${RECOUNTED} insert into ${SCHEMA}.axes (client_id, name)
select distinct client_id, axis from c order by 1, 2 on conflict do nothing`

const ADD_VALUES = `
${RECOUNTED} insert into ${SCHEMA}.axis_values (axis_id, value)
select distinct a.id, c.value from c join ${SCHEMA}.axes a on a.client_id = c.client_id and a.name = c.axis
order by 1, 2 on conflict do nothing`

/** Rows that no call is in keep their adjustments alone; the others are as their calls say. */
const REPLACE_ROWS = `
${RECOUNTED}, named as (
  select $1::date as day, a.id as axis_id, v.id as value_id, c.* from c
  join ${SCHEMA}.axes a on a.client_id = c.client_id and a.name = c.axis
  join ${SCHEMA}.axis_values v on v.axis_id = a.id and v.value = c.value),
emptied as (
  update ${SCHEMA}.axis_usage u set ${METERED_COLUMNS.map((column) => `${column} = null`).join(', ')}
  from (${AXIS_ROWS}) k
  where u.day = k.day and u.axis_id = k.axis_id and u.value_id = k.value_id
    and (${METERED_COLUMNS.map((column) => `u.${column} is not null`).join(' or ')})
    and not exists (select from named n where n.axis_id = u.axis_id and n.value_id = u.value_id)
  returning 1),
replaced as (
  insert into ${SCHEMA}.axis_usage as u (day, axis_id, value_id, ${METERED_COLUMNS.join(', ')})
  select day, axis_id, value_id, ${METERED_COLUMNS.join(', ')} from named order by axis_id, value_id
  on conflict (axis_id, day, value_id) do update set
    ${METERED_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}
  where ${METERED_COLUMNS.map((column) => `u.${column} is distinct from excluded.${column}`).join(' or ')}
  returning 1)
select (select count(*) from emptied) + (select count(*) from replaced) as rows`

/** What each value of a part of a day has of adjustments, by their entries; null: nothing. */
export const VALUE_ADJUSTMENTS = `
select coalesce(u.axis_id, e.axis_id) as axis_id, coalesce(u.value_id, e.value_id) as value_id,
  u.adjusted_pico, u.priced_later, nullif(e.pico, 0) as entries_pico,
  nullif(e.priced_calls, 0)::bigint as entries_priced_calls
from (${AXIS_ROWS}) u full join (
  select e.axis_id, e.value_id, sum(e.pico) as pico, sum(e.priced_calls) as priced_calls
  from ${SCHEMA}.axis_entries e join ${SCHEMA}.axes a on a.id = e.axis_id
  where ${inClientPart('e.day', 'a.client_id')} group by e.axis_id, e.value_id) e
  on e.axis_id = u.axis_id and e.value_id = u.value_id
where u.adjusted_pico is distinct from nullif(e.pico, 0)
  or u.priced_later is distinct from nullif(e.priced_calls, 0)::bigint`

const ADJUST_ROWS = `
insert into ${SCHEMA}.axis_usage as u (day, axis_id, value_id, adjusted_pico, priced_later)
select $1, axis_id, value_id, entries_pico, entries_priced_calls from (${VALUE_ADJUSTMENTS}) e
on conflict (axis_id, day, value_id) do update set
  adjusted_pico = excluded.adjusted_pico, priced_later = excluded.priced_later`

/** Computes the totals of a part's values again, from its calls and the entries of adjustments. @returns Changed rows. */
export async function rebuildAxes(session: PostgresSession, part: DayPart): Promise<number> {
  if (!(await hasAxes(session))) return 0
  const parameters = [...partParameters(part)]
  await queryLong(session, ADD_AXES, parameters)
  await queryLong(session, ADD_VALUES, parameters)
  const { rows } = await queryLong<{ rows: string }>(session, REPLACE_ROWS, parameters)
  const { rowCount } = await queryLong(session, ADJUST_ROWS, parameters)
  return Number(rows[0]?.rows ?? '0') + (rowCount ?? 0)
}

/** Whether any client has ever had a value: their numbers stay. */
export async function hasAxes(session: PostgresSession): Promise<boolean> {
  const { rows } = await session.query<{ has: boolean }>(`select exists (select from ${SCHEMA}.axes) as has`)
  return rows[0]?.has === true
}
