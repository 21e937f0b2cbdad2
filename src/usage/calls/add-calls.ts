import type { CountedCall } from '../../call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../call/usage.ts'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { type PostgresSession, sqlErrorOf, untilAllDone } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { SettledCall } from '../daily-key.ts'
import {
  type CountColumn,
  FIELD_COLUMNS,
  isAbsent,
  keyedBy,
  TOKEN_COUNT_COLUMNS,
  UNIT_COUNT_COLUMNS,
  valueText,
} from './call-columns.ts'
import { type KindOfCall, kindsOf } from './call-kinds.ts'

/** Columns of a call that its record has no field for, or several. */
const OTHER_COLUMNS = [
  ['day', 'date'],
  ['kind', 'bigint'],
  ['usage_digits', 'text'],
  ['fetched_by_client_id', 'text'],
  ['fetched_by_key_id', 'text'],
  ['told_by', 'uuid'],
  ['settles', 'uuid'],
] as const

const ROW_FIELDS = FIELD_COLUMNS.filter(({ place }) => place === 'row')
const OWN_FIELDS = FIELD_COLUMNS.filter(({ place }) => place === 'either')

/** Columns of `call_rows` with their types, as `rowText` fills them. A column that a row lacks is null. */
const COLUMNS: readonly (readonly [column: string, type: string])[] = [
  ...OTHER_COLUMNS,
  ...[...ROW_FIELDS, ...OWN_FIELDS].map(({ column, type }) => [column, type] as const),
  ...[...TOKEN_COUNT_COLUMNS, ...UNIT_COUNT_COLUMNS].map(({ column }) => [column, 'bigint'] as const),
]

/** JSON in one parameter costs the worker's CPU half of what an array for each column does. Flags are never null. */
const ADD_CALLS = `
insert into ${SCHEMA}.call_rows (${COLUMNS.map(([column]) => column).join(', ')})
select ${COLUMNS.map(([column, type]) => (type === 'boolean' ? `coalesce(r.${column}, false)` : `r.${column}`)).join(', ')}
from json_to_recordset($1) as r (${COLUMNS.map((column) => column.join(' ')).join(', ')})
on conflict do nothing`

/** Calls in one statement: Postgres inserts the first while the next are written down here. */
const CALLS_AT_A_TIME = 1_000

/** Adds single calls. Every day among them must have a partition. */
export async function addCalls(session: PostgresSession, records: readonly CountedCall[]): Promise<void> {
  const kinds = await kindsOf(session, records)
  const adding: Promise<unknown>[] = []
  for (let from = 0; from < records.length; from += CALLS_AT_A_TIME) {
    const rows = records
      .slice(from, from + CALLS_AT_A_TIME)
      .map((record, index) => rowText(record, kinds[from + index] as KindOfCall))
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
    `update ${SCHEMA}.call_rows c set settled = true
     from unnest($1::date[], $2::uuid[]) as s (day, call_id)
     where c.day = s.day and c.call_id = s.call_id`,
    [calls.map(({ arrivedAtMs }) => utcDayOf(arrivedAtMs)), calls.map(({ callId }) => callId)],
  )
}

const FIELDS = keyedBy(ROW_FIELDS.filter(({ name }) => name !== 'axes'))
const OWN = new Map(keyedBy(OWN_FIELDS).map((column) => [column.name as string, column]))
const TOKENS = keyedBy(TOKEN_COUNT_COLUMNS)
const UNITS = keyedBy(UNIT_COUNT_COLUMNS)

/**
 * The row as JSON, without what is null or false. Written directly: an object built from the table, for
 * `JSON.stringify`, costs twice as much.
 */
function rowText(call: CountedCall, { kind, usageDigits, axes, own }: KindOfCall): string {
  let text = `{"day":"${utcDayOf(call.arrivedAtMs)}","kind":${kind}`
  for (const { name, key, form } of FIELDS) {
    const value = call[name]
    if (!isAbsent(value)) text += key + valueText(form, value)
  }
  if (usageDigits !== null) text += `,"usage_digits":"${usageDigits}"`
  if (axes !== undefined) text += `,"axes":${JSON.stringify(axes)}`
  for (const field of own) {
    const value = call[field]
    const column = OWN.get(field)
    if (column !== undefined && !isAbsent(value)) text += column.key + valueText(column.form, value)
  }
  // Either is the id that the answer can be found by.
  if (call.responseId === null && call.answerId !== undefined)
    text += `,"response_id":${JSON.stringify(call.answerId)}`
  if (call.fetchedBy !== undefined) {
    const { clientId, keyId } = call.fetchedBy
    text += `,"fetched_by_client_id":${JSON.stringify(clientId)},"fetched_by_key_id":${JSON.stringify(keyId)}`
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

const PARTITIONED = ['call_rows', 'daily_usage', 'daily_latency']

/** Whether the error says that a day of `call_rows`, or a month of the totals, has no partition (any more). */
export function isPartitionMissing(error: unknown): boolean {
  const sqlError = sqlErrorOf(error)
  if (sqlError?.code !== '23514' || sqlError.constraint !== undefined) return false
  return PARTITIONED.includes(sqlError.table ?? '')
}

/**
 * Where single calls go beside the totals. It takes them in the transaction that counts them, so that a call is
 * there if and only if it is in the totals.
 */
export interface CallSink {
  /**
   * @param calls As they are totalled, in the order of the stream.
   * @param settled Calls that are unpriced no longer, of this transaction or of an earlier one.
   * @returns How many of `calls` it keeps no place for.
   */
  add(
    session: PostgresSession,
    calls: readonly CountedCall[],
    settled: readonly SettledCall[],
  ): Promise<number>
}

/**
 * `calls` in Postgres, where every deployment keeps them by default.
 *
 * @param days Those that have a partition: calls of another day are not kept.
 */
export function keptCalls(days: ReadonlySet<UtcDay>): CallSink {
  return {
    async add(session, calls, settled) {
      const kept = calls.filter(({ arrivedAtMs }) => days.has(utcDayOf(arrivedAtMs)))
      if (kept.length > 0) await addCalls(session, kept)
      if (settled.length > 0) await setCallsSettled(session, settled)
      return calls.length - kept.length
    },
  }
}

/** `first`, and `others` too. What `first` keeps no place for is what counts as not kept. */
export function callsInto(first: CallSink, others: readonly CallSink[]): CallSink {
  if (others.length === 0) return first
  return {
    async add(session, calls, settled) {
      const skipped = await first.add(session, calls, settled)
      for (const other of others) await other.add(session, calls, settled)
      return skipped
    },
  }
}
