import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type CallRow, columnsOf, fieldsFrom } from '../calls/call-columns.ts'
import { selectUsageDays } from '../days/usage-days.ts'
import { LATER_DIMENSIONS } from '../dimensions.ts'
import { EXPORTED_FIELDS, type ExportedCall } from './export-cloudevents.ts'
import { laterDimensions } from './export-columns.ts'
import type { ExportPage, ExportScope } from './export-rows.ts'

/** Calls in memory at a time, twice. */
const PAGE = 2_000
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

type SqlCall = CallRow & {
  readonly call_id: string
  readonly client: string
  readonly told_by: string | null
  readonly settles: string | null
}

const COLUMNS = [
  columnsOf(EXPORTED_FIELDS),
  'client',
  'told_by',
  'settles',
  ...LATER_DIMENSIONS.map(({ column }) => column),
]

const SELECT_CALLS = `
select ${COLUMNS.join(', ')} from ${SCHEMA}.calls
where day = $1 and call_id > $2 and ($3::text is null or client_id = $3)
order by call_id limit ${PAGE}`

/**
 * Single calls by day and id, each page in a statement of its own: a day may have millions, and no snapshot is
 * held over them. A call that is counted meanwhile may be in it or not; one that was before is, once.
 */
export async function* readCalls(
  pool: Postgres,
  scope: ExportScope,
): AsyncGenerator<ExportPage<ExportedCall>> {
  for (const day of await selectUsageDays(pool, scope.from, scope.to)) {
    const fetch = (after: string) => fetchPage(pool, [day, after, scope.clientId])
    let next = fetch(BEFORE_ALL)
    for (;;) {
      const rows = await next
      const last = rows.length < PAGE ? undefined : rows.at(-1)
      if (last !== undefined) next = fetch(last.call_id)
      if (rows.length > 0) yield { day, rows: rows.map(callFrom) }
      if (last === undefined) break
    }
  }
}

function fetchPage(pool: Postgres, values: unknown[]): Promise<readonly SqlCall[]> {
  const page = pool.query<SqlCall>(SELECT_CALLS, values).then(({ rows }) => rows)
  page.catch(() => {}) // a reader that stops early does not wait for it
  return page
}

/** Of these days, those that had requests or settlements; rising. */
export async function selectDaysWithCalls(pool: Postgres, days: readonly UtcDay[]): Promise<UtcDay[]> {
  const { rows } = await pool.query<{ day: UtcDay }>(
    `select day from unnest($1::date[]) d (day) where exists (
       select from ${SCHEMA}.daily_usage u where u.day = d.day and u.requests + coalesce(u.settlements, 0) > 0)
     order by day`,
    [days],
  )
  return rows.map(({ day }) => day)
}

function callFrom(row: SqlCall): ExportedCall {
  const { client, told_by: reportedBy, settles } = row
  const later = laterDimensions(({ column }) => String(row[column] ?? ''))
  return { ...fieldsFrom(row, EXPORTED_FIELDS), client, reportedBy, settles, laterDimensions: later }
}
