import { countsBy } from '../../call/usage.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type CallRow, columnsOf, fieldsFrom } from '../calls/call-columns.ts'
import { shownKeyIn } from '../daily-key.ts'
import { dailyRowFrom } from '../daily-row.ts'
import { joinNames, nameIn } from '../dimension-names.ts'
import { DIMENSIONS, LATER_DIMENSIONS } from '../dimensions.ts'
import { EXPORTED_FIELDS, type ExportedCall } from './export-cloudevents.ts'
import { type ExportedDay, laterDimensions } from './exported-day.ts'

/** What is exported: UTC days, both included, of one client or (`null`) of all. */
export interface ExportScope {
  readonly from: UtcDay
  readonly to: UtcDay
  readonly clientId: string | null
}

/** Rows in memory at a time. */
const PAGE = 1_000

type SqlRow = Readonly<Record<string, string | null>>

const NAMES = DIMENSIONS.flatMap(({ named }) => (named === undefined ? [] : [named]))

const SELECT_DAYS = `
select ${['u.*', ...NAMES.map((named) => `${nameIn(named)} as ${named.column}`)].join(', ')}
from ${SCHEMA}.daily_usage u ${joinNames(DIMENSIONS)}
where u.day between $1 and $2 and ($3::text is null or u.client_id = $3)
order by ${shownKeyIn('u')}`

/** Daily totals as of one moment, by day, client, key, model, upstream and price; a page at a time. */
export async function* readDays(pool: Postgres, scope: ExportScope): AsyncGenerator<ExportedDay[]> {
  for await (const rows of readPages<SqlRow>(pool, SELECT_DAYS, scope)) yield rows.map(dayFrom)
}

interface SqlCall extends CallRow {
  readonly client: string
  readonly told_by: string | null
  readonly settles: string | null
}

const SELECT_CALLS = `
select ${[columnsOf(EXPORTED_FIELDS), 'client', 'told_by', 'settles', ...LATER_DIMENSIONS.map(({ column }) => column)].join(', ')}
from ${SCHEMA}.calls
where day between $1 and $2 and ($3::text is null or client_id = $3)
order by day, call_id`

/** Single calls as of one moment, by day and id; a page at a time. */
export async function* readCalls(pool: Postgres, scope: ExportScope): AsyncGenerator<ExportedCall[]> {
  for await (const rows of readPages<SqlCall>(pool, SELECT_CALLS, scope)) yield rows.map(callFrom)
}

/** The days with requests, rising. */
export async function selectUsedDays(
  pool: Postgres,
  { from, to }: Pick<ExportScope, 'from' | 'to'>,
): Promise<UtcDay[]> {
  const { rows } = await pool.query<{ day: UtcDay }>(
    `select distinct day from ${SCHEMA}.daily_usage where day between $1 and $2 and requests + settlements > 0 order by day`,
    [from, to],
  )
  return rows.map(({ day }) => day)
}

/** By a cursor: one snapshot for all pages, however slowly they are taken. */
async function* readPages<Row extends Readonly<Record<string, unknown>>>(
  pool: Postgres,
  select: string,
  { from, to, clientId }: ExportScope,
): AsyncGenerator<Row[]> {
  const session = await pool.connect()
  try {
    await session.query('begin isolation level repeatable read, read only')
    // A slow reader idles in its transaction, but holds no lock that another waits for.
    await session.query('set local idle_in_transaction_session_timeout = 0')
    await session.query(`declare export no scroll cursor for ${select}`, [from, to, clientId])
    for (;;) {
      const rows = await nextPage<Row>(session)
      if (rows.length > 0) yield rows
      if (rows.length < PAGE) return
    }
  } finally {
    // A reader that stops early leaves the cursor open, so the session is closed.
    session.release(true)
  }
}

async function nextPage<Row extends Readonly<Record<string, unknown>>>(
  session: PostgresSession,
): Promise<Row[]> {
  const { rows } = await session.query<Row>(`fetch ${PAGE} from export`)
  return rows
}

function dayFrom(row: SqlRow): ExportedDay {
  const names = countsBy(
    NAMES.map(({ field }) => field),
    (field) => row[NAMES.find((named) => named.field === field)?.column ?? ''] ?? null,
  )
  return { ...dailyRowFrom(row), ...names }
}

function callFrom(row: SqlCall): ExportedCall {
  const { client, told_by: reportedBy, settles } = row
  const later = laterDimensions(({ column }) => String(row[column] ?? ''))
  return { ...fieldsFrom(row, EXPORTED_FIELDS), client, reportedBy, settles, laterDimensions: later }
}
