import type { CountedCall } from '../call/call-record.ts'
import { utcDayOf } from '../domain/utc-day.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import {
  DIMENSIONS,
  type DimensionField,
  KEY_DIMENSIONS,
  type KeyColumn,
  type KeyField,
  SUBMITTER_DIMENSIONS,
  type SubmitterField,
} from './dimensions.ts'

/** What names a row of `daily_usage`. */
export type DailyKey = Readonly<Record<KeyField, string>>

/** What of a call says in which row it is totalled. */
export type TotalledCall = Pick<CountedCall, 'arrivedAtMs' | Exclude<DimensionField, 'day'>>

/**
 * A call that was unpriced until its job reported what it used, and the row that it is totalled in. No field may be left
 * out: without one of its dimensions it would be taken from another row.
 */
export type SettledCall = Required<Omit<TotalledCall, 'priceId'> & Pick<CountedCall, 'callId' | 'axes'>>

/** What a job's use has from the call that submitted the job. */
export type Submitter = Pick<TotalledCall, SubmitterField>

export function submitterOf(call: Submitter): Required<Submitter> {
  return Object.fromEntries(
    SUBMITTER_DIMENSIONS.map(({ field }) => [field, call[field]]),
  ) as Required<Submitter>
}

export function totalledUnder(call: TotalledCall, field: DimensionField): string {
  return field === 'day' ? utcDayOf(call.arrivedAtMs) : (call[field] ?? '')
}

/** The row that a call is totalled in. */
export function keyOf(call: TotalledCall): DailyKey {
  return buildKey(({ field }) => totalledUnder(call, field))
}

/** The row with these values, and '' in the rest of the key. */
export function keyWith(values: Partial<DailyKey>): DailyKey {
  return buildKey(({ field }) => values[field] ?? '')
}

/** A row's key as one text: equal where the keys are, and in the order in which rows are locked. */
export function keyText(key: DailyKey): string {
  return KEY_DIMENSIONS.map(({ field }) => key[field]).join('\0')
}

const KEY_FIELDS = KEY_DIMENSIONS.map(({ field }) => field)

export function keyTextOf(call: TotalledCall): string {
  return KEY_FIELDS.map((field) => totalledUnder(call, field)).join('\0')
}

/** The key as a row of SQL has it. */
export type DailyKeyRow = Readonly<Record<KeyColumn, string>>

/** The columns of the key in a row of `calls`. */
export type CallKeyRow = Readonly<Record<KeyColumn, string | null>>

export function keyFrom(row: DailyKeyRow | CallKeyRow): DailyKey {
  return buildKey(({ column }) => row[column] ?? '')
}

export function keyRowOf(key: DailyKey): DailyKeyRow {
  return Object.fromEntries(KEY_DIMENSIONS.map(({ field, column }) => [column, key[field]])) as DailyKeyRow
}

function buildKey(value: (dimension: (typeof KEY_DIMENSIONS)[number]) => string): DailyKey {
  const key: Partial<Record<KeyField, string>> = {}
  for (const dimension of KEY_DIMENSIONS) key[dimension.field] = value(dimension)
  return key as DailyKey
}

/** The columns that name a row, in the order in which rows are locked. */
export const KEY_COLUMNS: readonly KeyColumn[] = KEY_DIMENSIONS.map(({ column }) => column)

/** The key as a list in SQL. */
export const KEY = KEY_COLUMNS.join(', ')

/** The key of the rows of `alias` as a list in SQL. */
export function keyIn(alias: string): string {
  return KEY_COLUMNS.map((column) => `${alias}.${column}`).join(', ')
}

/** The columns and types of `keyRowOf`, as `json_to_recordset` wants them. */
export const KEY_RECORD = KEY_DIMENSIONS.map(({ column, type = 'text' }) => `${column} ${type}`).join(', ')

function hashIn(prefix: string): string {
  const named = ['client_id', 'key_id', 'model', 'upstream', 'price_id'] satisfies KeyColumn[]
  return `${SCHEMA}.daily_key_hash(${named.map((column) => prefix + column).join(', ')})`
}

/** The unique index of `daily_usage`, which has the names of a row as a hash, as a target of `on conflict`. */
export const ROW_KEY = `day, ${hashIn('')}`

/** The same hash of the rows of `alias`. */
export function rowHashIn(alias: string): string {
  return hashIn(`${alias}.`)
}

/** The condition that `row`, of `daily_usage`, has the key of `named`; by that index. */
export function isRowOf(row: string, named: string): string {
  return `${sameKey(row, named)} and ${hashIn(`${row}.`)} = ${hashIn(`${named}.`)}`
}

/** The condition that two rows of totals have the same key, by their aliases. */
export function sameKey(left: string, right: string): string {
  return KEY_COLUMNS.map((column) => `${left}.${column} = ${right}.${column}`).join(' and ')
}

/** The key of a row `c` of `calls`, as a list in SQL. */
export const KEY_OF_CALL = KEY_DIMENSIONS.map(
  (dimension) => `${ofCall(dimension)} as ${dimension.column}`,
).join(', ')

/** The condition that a row `c` of `calls` is totalled in the row `u`. */
export const IS_TOTALLED_IN = KEY_DIMENSIONS.map(
  (dimension) => `${ofCall(dimension)} = u.${dimension.column}`,
).join(' and ')

function ofCall({ column, nullable }: (typeof KEY_DIMENSIONS)[number]): string {
  return nullable === true ? `coalesce(c.${column}, '')` : `c.${column}`
}

/** In the order in which people are shown a key. */
const SHOWN = DIMENSIONS.flatMap((shown) => KEY_DIMENSIONS.filter(({ field }) => field === shown.field))

/** The key of the rows of `alias` in that order, as a list in SQL. */
export function shownKeyIn(alias: string): string {
  return SHOWN.map(({ column }) => `${alias}.${column}`).join(', ')
}

/** The key as JSON, the same on the command line and over HTTP. */
export function renderDailyKey(key: DailyKey): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    SHOWN.map(({ field, column, nullable }) => [column, nullable && key[field] === '' ? null : key[field]]),
  )
}

/** The headings of `keyCells`. */
export const KEY_HEADINGS: readonly string[] = SHOWN.map(({ column }) =>
  column.replace(/_id$/, '').toUpperCase(),
)

/** The key as cells of a table. */
export function keyCells(key: DailyKey): readonly string[] {
  return SHOWN.map(({ field }) => key[field])
}
