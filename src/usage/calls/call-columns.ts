import type { CallRecord } from '../../call/call-record.ts'
import { FIELD_LIST, RECORD_FIELDS, type RecordField } from '../../call/record-fields.ts'
import { BILLED_UNITS, TOKEN_CLASSES, TOKEN_COLUMNS, UNIT_COLUMNS } from '../../call/usage.ts'

type Table = typeof RECORD_FIELDS

/** The types of SQL by the form of a field that has a column. */
const SQL_TYPES = {
  id: 'uuid',
  text: 'text',
  word: 'text',
  time: 'timestamptz',
  integer: 'integer',
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
}

/** A column for each field that has one, in the order of the table. */
export const FIELD_COLUMNS: readonly FieldColumn[] = FIELD_LIST.flatMap(({ name, form, column }) =>
  column === null || form === 'tokens' || form === 'units' || form === 'list'
    ? []
    : [{ name: name as ColumnField, form, column, type: SQL_TYPES[form] }],
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
