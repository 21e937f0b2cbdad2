import type { CallRecord } from '../../call/call-record.ts'
import { type ColumnPlace, FIELD_LIST, RECORD_FIELDS, type RecordField } from '../../call/record-fields.ts'
import { BILLED_UNITS, TOKEN_CLASSES, TOKEN_COLUMNS, UNIT_COLUMNS } from '../../call/usage.ts'

type Table = typeof RECORD_FIELDS

/** The types of SQL by the form of a field that has a column. */
const SQL_TYPES = {
  id: 'uuid',
  text: 'text',
  // 16 bytes. The view shows its digits alone.
  trace: 'uuid',
  word: 'text',
  time: 'timestamptz',
  integer: 'integer',
  bytes: 'bigint',
  // Milliseconds with three decimals.
  microseconds: 'numeric',
  pico: 'numeric',
  flag: 'boolean',
} as const satisfies Readonly<
  Record<Exclude<Table[RecordField]['form'], 'tokens' | 'units' | 'list'>, string>
>

export type ColumnForm = keyof typeof SQL_TYPES

/** A field of a record with a column of its own. */
export type ColumnField = {
  [Field in RecordField]: Table[Field] extends { readonly column: string } ? Field : never
}[RecordField]

/** What a row of `calls` has of a record. */
export type StoredField = ColumnField | 'usage' | 'units'

export interface FieldColumn {
  readonly name: ColumnField
  readonly form: ColumnForm
  readonly column: string
  readonly type: string
  readonly place: ColumnPlace
}

/** A field that a call has in its own row where most calls like it would have another. */
export type OwnField = {
  [Field in ColumnField]: Table[Field] extends { readonly place: 'either' } ? Field : never
}[ColumnField]

/** A column for each field that has one, in the order of the table. */
export const FIELD_COLUMNS: readonly FieldColumn[] = FIELD_LIST.flatMap(({ name, form, column, place }) =>
  place === undefined || column === null || form === 'tokens' || form === 'units' || form === 'list'
    ? []
    : [{ name: name as ColumnField, form, column, type: SQL_TYPES[form], place }],
)

export const OWN_FIELDS: readonly OwnField[] = FIELD_COLUMNS.flatMap(({ name, place }) =>
  place === 'either' ? [name as OwnField] : [],
)

export interface CountColumn<Name> {
  readonly name: Name
  readonly column: string
}

function countColumns<Name extends string>(
  names: readonly Name[],
  columns: readonly string[],
): readonly CountColumn<Name>[] {
  return names.map((name, index) => ({ name, column: columns[index] ?? name }))
}

export const TOKEN_COUNT_COLUMNS = countColumns(TOKEN_CLASSES, TOKEN_COLUMNS)
export const UNIT_COUNT_COLUMNS = countColumns(BILLED_UNITS, UNIT_COLUMNS)

/** With what a column's value is written behind, in JSON that has a member before it. */
export function keyedBy<Column extends { readonly column: string }>(columns: readonly Column[]) {
  return columns.map((column) => ({ ...column, key: `,"${column.column}":` }))
}

/** Whether JSON leaves the value out: it is null, or false where columns are false then. */
export function isAbsent(
  value: string | number | boolean | null | undefined,
): value is null | undefined | false {
  return value === null || value === undefined || value === false
}

/** The value as JSON that `json_to_recordset` reads as the column's type. */
export function valueText(form: ColumnForm, value: string | number | true): string {
  switch (form) {
    case 'text':
      return JSON.stringify(`${value}`)
    case 'id':
    case 'word':
    case 'trace':
    case 'pico':
      return `"${value}"`
    case 'time':
      return `"${new Date(Number(value)).toISOString()}"`
    case 'microseconds':
      return millisecondsOf(Number(value))
    case 'integer':
    case 'bytes':
    case 'flag':
      return `${value}`
    default:
      return form satisfies never
  }
}

/** Whole microseconds as milliseconds with three decimals, exactly. */
function millisecondsOf(microseconds: number): string {
  const digits = `${microseconds}`.padStart(4, '0')
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`
}

/** A row of `calls` as `pg` reads it. */
export type CallRow = Readonly<Record<string, unknown>>

/** The columns that hold these fields, as a select lists them. */
export function columnsOf(fields: readonly StoredField[]): string {
  return fields
    .flatMap((field) => {
      if (field === 'usage') return TOKEN_COLUMNS
      if (field === 'units') return UNIT_COLUMNS
      return [RECORD_FIELDS[field].column]
    })
    .join(', ')
}

/**
 * Fields of a record from its row. `responseId` may be what the record has as `answerId`: they share a column.
 *
 * @param row With `columnsOf` the fields.
 */
export function fieldsFrom<Field extends StoredField>(
  row: CallRow,
  fields: readonly Field[],
): Pick<CallRecord, Field> {
  return Object.fromEntries(fields.map((field) => [field, fieldFrom(row, field)])) as Pick<CallRecord, Field>
}

function fieldFrom(row: CallRow, field: StoredField): unknown {
  switch (field) {
    case 'usage':
      return countsFrom(row, TOKEN_COUNT_COLUMNS)
    case 'units':
      return countsFrom(row, UNIT_COUNT_COLUMNS)
    default: {
      const { form, absent, column } = RECORD_FIELDS[field]
      const value = row[column]
      if (value instanceof Date) return value.getTime()
      if (form === 'microseconds' && typeof value === 'string') return Number(value.replace('.', ''))
      if (form === 'bytes' && typeof value === 'string') return Number(value)
      if (value !== null && value !== false) return value
      return absent === 'undefined' ? undefined : absent === 'false' ? false : null
    }
  }
}

/** `pg` reads bigints as text. */
function countsFrom<Name extends string>(
  row: CallRow,
  columns: readonly CountColumn<Name>[],
): Readonly<Record<Name, number | null>> {
  const counts: Partial<Record<Name, number | null>> = {}
  for (const { name, column } of columns) {
    const text = row[column]
    counts[name] = typeof text === 'string' ? Number(text) : null
  }
  return counts as Record<Name, number | null>
}
