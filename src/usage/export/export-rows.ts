import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type CallRow, columnsOf, fieldsFrom } from '../calls/call-columns.ts'
import { sumsFrom } from '../usage-sums.ts'
import { EXPORTED_FIELDS, type ExportedCall } from './export-cloudevents.ts'
import type { ExportedDay } from './exported-day.ts'

/** What is exported: UTC days, both included, of one client or (`null`) of all. */
export interface ExportScope {
  readonly from: UtcDay
  readonly to: UtcDay
  readonly clientId: string | null
}

/** Rows in memory at a time. */
const PAGE = 1_000

type SqlRow = Readonly<Record<string, string | null>>

const SELECT_DAYS = `
select u.*, c.name as client_name, k.name as key_name
from ${SCHEMA}.daily_usage u
left join ${SCHEMA}.clients c on c.id = u.client_id
left join ${SCHEMA}.keys k on k.id = u.key_id
where u.day between $1 and $2 and ($3::text is null or u.client_id = $3)
order by u.day, u.client_id, u.key_id, u.model, u.upstream, u.price_id`

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
select ${columnsOf(EXPORTED_FIELDS)}, client, told_by, settles
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
    // Who reads may be slow, and holds no lock that anybody waits for.
    await session.query('set local idle_in_transaction_session_timeout = 0')
    await session.query(`declare export no scroll cursor for ${select}`, [from, to, clientId])
    for (;;) {
      const rows = await nextPage<Row>(session)
      if (rows.length > 0) yield rows
      if (rows.length < PAGE) return
    }
  } finally {
    // Whoever stops reading leaves the cursor open: the session is not used again.
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
  const { day, client_id: clientId, key_id: keyId, model, upstream, provider, price_id: priceId } = row
  const count = (column: string) => BigInt(row[column] ?? '0')
  return {
    day: day ?? '',
    clientId: clientId ?? '',
    clientName: row.client_name ?? null,
    keyId: keyId ?? '',
    keyName: row.key_name ?? null,
    model: model ?? '',
    upstream: upstream ?? '',
    provider: provider ?? '',
    priceId: priceId === '' ? null : (priceId ?? null),
    requests: count('requests'),
    settlements: count('settlements'),
    reported: count('reported'),
    partial: count('partial'),
    estimated: count('estimated'),
    withoutUsage: count('without_usage'),
    invalid: count('invalid'),
    unpriced: count('unpriced') - count('priced_later'),
    errors: count('errors'),
    sums: sumsFrom(row),
    estimatedInputTokens: count('estimated_input_tokens'),
    estimatedOutputTokens: count('estimated_output_tokens'),
    latencyUsSum: count('latency_us_sum'),
    latencyCount: count('latency_count'),
    costPico: count('cost_pico'),
    adjustedPico: count('adjusted_pico'),
  }
}

function callFrom(row: SqlCall): ExportedCall {
  const { client, told_by: reportedBy, settles } = row
  return { ...fieldsFrom(row, EXPORTED_FIELDS), client, reportedBy, settles }
}
