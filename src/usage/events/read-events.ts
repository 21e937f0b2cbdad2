import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import {
  type CallRow,
  columnsOf,
  FIELD_COLUMNS,
  fieldsFrom,
  type StoredField,
} from '../calls/call-columns.ts'
import { selectUsageDays } from '../days/usage-days.ts'
import type { ExportPage, ExportScope } from '../export/export-rows.ts'
import { adjustmentEvent, readSentAdjustments } from './adjustment-event.ts'
import { callEvent, type EventCall, settledEvent } from './call-event.ts'

/** Calls in memory at a time, twice. */
const PAGE = 2_000
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

type SqlCall = CallRow & {
  readonly call_id: string
  readonly client: string
  readonly key_name: string | null
  readonly told_by: string | null
  readonly settles: string | null
  readonly settled: boolean
  readonly fetched_by_client_id: string | null
  readonly fetched_by_key_id: string | null
}

const FIELDS: readonly StoredField[] = [...FIELD_COLUMNS.map(({ name }) => name), 'usage', 'units']

const SELECT_CALLS = `
select ${columnsOf(FIELDS)}, client, told_by, settles, settled, fetched_by_client_id, fetched_by_key_id,
  (select k.name from ${SCHEMA}.keys k where k.id = c.key_id) as key_name
from ${SCHEMA}.calls c
where day = $1 and call_id > $2 and ($3::text is null or client_id = $3)
order by call_id limit ${PAGE}`

/**
 * The events that Kafka has of these days: single calls by day and id, each page in a statement of its own, and behind
 * them what adjustments came to. A day may have millions, and no snapshot is held over them. A call that is counted
 * meanwhile may be in it or not; one that was before is, once.
 */
export async function* readEvents(pool: Postgres, scope: ExportScope): AsyncGenerator<ExportPage<string>> {
  for (const day of await selectUsageDays(pool, scope.from, scope.to)) {
    const fetch = (after: string) => fetchPage(pool, [day, after, scope.clientId])
    let next = fetch(BEFORE_ALL)
    for (;;) {
      const rows = await next
      const last = rows.length < PAGE ? undefined : rows.at(-1)
      if (last !== undefined) next = fetch(last.call_id)
      if (rows.length > 0) yield { day, rows: rows.flatMap(eventsOf) }
      if (last === undefined) break
    }
    for await (const entries of readSentAdjustments(pool, day, scope.clientId))
      yield { day, rows: entries.map(adjustmentEvent) }
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

function eventsOf(row: SqlCall): readonly string[] {
  const { client, key_name: keyName, told_by: reportedBy, settles } = row
  const { fetched_by_client_id: clientId, fetched_by_key_id: keyId } = row
  const call: EventCall = {
    ...fieldsFrom(row, FIELDS),
    ...(reportedBy === null ? {} : { settlement: { reportedBy, settles } }),
    ...(clientId === null || keyId === null ? {} : { fetchedBy: { clientId, keyId } }),
  }
  const event = callEvent(call, client, keyName)
  if (!row.settled) return [event]
  const names = new Map([
    [call.clientId, client],
    ...(keyName === null ? [] : [[call.keyId, keyName] as const]),
  ])
  return [event, settledEvent(call, names)]
}
