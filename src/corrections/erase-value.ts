import { lockCorrections } from '../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres, queryLong } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** What took the place of a value. */
export interface ErasedValue {
  /** Numbers of the value, one for each client that had totals of it. */
  readonly ids: readonly string[]
  /** Single calls, and jobs that have not reported their usage, that had it. */
  readonly calls: number
}

const ERASE_NAME = `
update ${SCHEMA}.axis_values v set value = '(erased ' || v.id || ')'
from ${SCHEMA}.axes a
where a.id = v.axis_id and a.name = $1 and v.value = $2 and ($3::text is null or a.client_id = $3)
returning v.id, a.client_id`

/**
 * The same in the lines of single calls: those with totals by the number of the value, so that counting them again
 * gives the same rows. Without a join of the table with itself, which would miss rows that another transaction changes.
 *
 * @param joined Where else the client of a row stands, and by what.
 * @param client The column that has it.
 * @param shape Where names stand apart from the row's values, null where the row has both.
 */
function eraseLines(table: string, client: string, joined = ['', ''], shape = 'null'): string {
  const [from, on] = joined
  const text = `${SCHEMA}.axes_text(${shape}, r.axes)`
  return `
update ${SCHEMA}.${table} r set axes = (
  select string_agg(substr(case
      when line = $1 || '=' || $2 then $1 || '=(erased' || coalesce(' ' || (
        select v.id from unnest($4::text[], $5::text[]) v (id, client_id) where v.client_id = ${client}), '') || ')'
      when line in ('~' || $1 || '=' || $2, '-' || $1 || '=' || $2) then substr(line, 1, length($1) + 1) || '=(erased)'
      else line end, case when ${shape} is null then 1 else strpos(line, '=') + 1 end), chr(10) order by place)
  from string_to_table(${text}, chr(10)) with ordinality l (line, place))
${from} where ${on} r.axes is not null and ($3::text is null or ${client} = $3)
  and string_to_array(${text}, chr(10)) && array[$1 || '=' || $2, '~' || $1 || '=' || $2, '-' || $1 || '=' || $2]`
}

const ERASE_CALLS = eraseLines(
  'call_rows',
  'c.client_id',
  [`from ${SCHEMA}.call_kinds c`, 'c.day = r.day and c.kind = r.kind and'],
  'c.axes_shape',
)
const ERASE_SPENDING = ['value_spending', 'value_route_spending'].map(
  (table) => `delete from ${SCHEMA}.${table}
  where axis = $1 and value = $2 and ($3::text is null or client_id = $3)`,
)
const ERASE_JOBS = eraseLines('objects', 'r.client_id')

/**
 * Takes a value's name out of totals, single calls and jobs, for good. What it adds up to stays, without the name.
 * Roll-ups wait meanwhile.
 *
 * @param clientId `null`: of all clients.
 */
export async function eraseValue(
  pool: Postgres,
  axis: string,
  value: string,
  clientId: string | null,
): Promise<ErasedValue> {
  return await inTransaction(pool, async (session) => {
    await lockCorrections(session)
    const { rows } = await session.query<{ id: string; client_id: string }>(ERASE_NAME, [
      axis,
      value,
      clientId,
    ])
    const ids = rows.map(({ id }) => id)
    const parameters = [axis, value, clientId, ids, rows.map((row) => row.client_id)]
    const calls = await queryLong(session, ERASE_CALLS, parameters)
    const jobs = await queryLong(session, ERASE_JOBS, parameters)
    // What budgets have counted of it: one for the value goes on with nothing spent.
    for (const erase of ERASE_SPENDING) await queryLong(session, erase, [axis, value, clientId])
    return { ids, calls: (calls.rowCount ?? 0) + (jobs.rowCount ?? 0) }
  })
}
