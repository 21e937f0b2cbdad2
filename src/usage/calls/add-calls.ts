import type { CountedCall } from '../../call/settlement.ts'
import { NO_UNITS, NO_USAGE } from '../../call/usage.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { type PostgresSession, sqlErrorOf, untilAllDone } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { SettledCall } from '../daily-key.ts'
import {
  type ColumnForm,
  type CountColumn,
  FIELD_COLUMNS,
  TOKEN_COUNT_COLUMNS,
  UNIT_COUNT_COLUMNS,
} from './call-columns.ts'

/** Columns of a call that its record has no field for, or several. */
const OTHER_COLUMNS = [
  ['day', 'date'],
  ['fetched_by_client_id', 'text'],
  ['fetched_by_key_id', 'text'],
  ['told_by', 'uuid'],
  ['settles', 'uuid'],
] as const

/** Columns of `calls` with their types, as `rowText` fills them. A column that a row lacks is null. */
const COLUMNS: readonly (readonly [column: string, type: string])[] = [
  ...OTHER_COLUMNS,
  ...FIELD_COLUMNS.map(({ column, type }) => [column, type] as const),
  ...[...TOKEN_COUNT_COLUMNS, ...UNIT_COUNT_COLUMNS].map(({ column }) => [column, 'bigint'] as const),
]

/** JSON in one parameter costs the worker's CPU half of what an array for each column does. Flags are never null. */
const ADD_CALLS = `
insert into ${SCHEMA}.calls (client, ${COLUMNS.map(([column]) => column).join(', ')})
select coalesce(c.name, r.client_id),
  ${COLUMNS.map(([column, type]) => (type === 'boolean' ? `coalesce(r.${column}, false)` : `r.${column}`)).join(', ')}
from json_to_recordset($1) as r (${COLUMNS.map((column) => column.join(' ')).join(', ')})
left join ${SCHEMA}.clients c on c.id = r.client_id
on conflict do nothing`

/** Calls in one statement: Postgres inserts the first while the next are written down here. */
const CALLS_AT_A_TIME = 1_000

/** Adds single calls. Every day among them must have a partition. */
export async function addCalls(session: PostgresSession, records: readonly CountedCall[]): Promise<void> {
  const adding: Promise<unknown>[] = []
  for (let from = 0; from < records.length; from += CALLS_AT_A_TIME) {
    const rows = records.slice(from, from + CALLS_AT_A_TIME).map(rowText)
    adding.push(session.query(ADD_CALLS, [`[${rows.join(',')}]`]))
  }
  await untilAllDone(adding)
}

/** Sets `settled` for calls whose jobs have reported what they used. Does nothing for a call whose day is no longer kept. */
export async function setCallsSettled(
  session: PostgresSession,
  calls: readonly SettledCall[],
): Promise<void> {
  await session.query(
    `update ${SCHEMA}.calls c set settled = true
     from unnest($1::date[], $2::uuid[]) as s (day, call_id)
     where c.day = s.day and c.call_id = s.call_id`,
    [calls.map(({ arrivedAtMs }) => utcDayOf(arrivedAtMs)), calls.map(({ callId }) => callId)],
  )
}

const quote = JSON.stringify as (text: string) => string

/** With what a column's value is written behind. */
function withKey<Column extends { readonly column: string }>(columns: readonly Column[]) {
  return columns.map((column) => ({ ...column, key: `,"${column.column}":` }))
}

const FIELDS = withKey(FIELD_COLUMNS)
const TOKENS = withKey(TOKEN_COUNT_COLUMNS)
const UNITS = withKey(UNIT_COUNT_COLUMNS)

/**
 * The row as JSON, without what is null or false. Written directly: an object built from the table, for
 * `JSON.stringify`, costs twice as much.
 */
function rowText(call: CountedCall): string {
  let text = `{"day":"${utcDayOf(call.arrivedAtMs)}"`
  for (const { name, key, form } of FIELDS) {
    const value = call[name]
    if (value !== null && value !== undefined && value !== false) text += key + valueText(form, value)
  }
  // Either is the id that the answer can be found by.
  if (call.responseId === null && call.answerId !== undefined)
    text += `,"response_id":${quote(call.answerId)}`
  if (call.fetchedBy !== undefined) {
    const { clientId, keyId } = call.fetchedBy
    text += `,"fetched_by_client_id":${quote(clientId)},"fetched_by_key_id":${quote(keyId)}`
  }
  if (call.settlement !== undefined) {
    const { reportedBy, settles } = call.settlement
    text += `,"told_by":"${reportedBy}"`
    if (settles !== null) text += `,"settles":"${settles}"`
  }
  if (call.usage !== NO_USAGE) text += countsText(TOKENS, call.usage)
  if (call.units !== NO_UNITS) text += countsText(UNITS, call.units)
  return `${text}}`
}

function valueText(form: ColumnForm, value: string | number | true): string {
  switch (form) {
    case 'text':
      return quote(`${value}`)
    case 'id':
    case 'word':
    case 'pico':
      return `"${value}"`
    case 'time':
      return `"${new Date(Number(value)).toISOString()}"`
    case 'microseconds':
      return millisecondsOf(Number(value))
    case 'integer':
    case 'flag':
      return `${value}`
    default:
      return form satisfies never
  }
}

function countsText<Name extends string>(
  columns: readonly (CountColumn<Name> & { readonly key: string })[],
  counts: Readonly<Record<Name, number | null>>,
): string {
  let text = ''
  for (const { name, key } of columns) {
    const count = counts[name]
    if (count !== null) text += `${key}${count}`
  }
  return text
}

/** Whole microseconds as milliseconds with three decimals, exactly. */
function millisecondsOf(microseconds: number): string {
  const digits = `${microseconds}`.padStart(4, '0')
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`
}

const PARTITIONED = ['calls', 'daily_usage', 'daily_latency']

/** Whether the error says that a day of `calls`, or a month of the totals, has no partition (any more). */
export function isPartitionMissing(error: unknown): boolean {
  const sqlError = sqlErrorOf(error)
  if (sqlError?.code !== '23514' || sqlError.constraint !== undefined) return false
  return PARTITIONED.includes(sqlError.table ?? '')
}
