import { SCHEMA } from '../store/connection/schema.ts'

interface Dimension {
  /** In code. In the record of a call too, but for the day, which follows from its arrival. */
  readonly field: string
  /** In `daily_usage`, `adjustment_entries`, `calls`, exports and documents. */
  readonly column: string
  /** Absent: text. */
  readonly type?: 'date'
  /**
   * Its place in the primary key, from 1: also the order in which rows are locked. Absent: not in the key.
   */
  readonly key?: number
  /** `null` in a record and in `calls`, '' in totals. */
  readonly nullable?: true
  /**
   * A job's use has it from the call that submitted the job; `objects` keeps it, in a column of that name.
   */
  readonly bySubmitter?: true
  /** The table whose `name` people know it by; `null` there: it is no longer known. */
  readonly named?: {
    readonly table: string
    readonly field: string
    readonly column: string
    /** In exports. */
    readonly exported: string
    readonly description: string
  }
  /** Absent: usage cannot be grouped by it. */
  readonly group?: {
    /** In queries, on the command line, and as the heading of a table. */
    readonly name: string
    /** Among the groups, from 1: the order of messages and of fields in answers. */
    readonly place: number
    /** In the API description. */
    readonly description: string
    /** Every answer names its client, and a client sees itself alone: it may not group by this. */
    readonly isClient?: true
  }
  /**
   * The release of the exports that brought it. What the first brought has a place of its own in each format.
   * What is later is a column at the end of CSV and JSON, an entry of FOCUS's `Tags`, and a member of
   * CloudEvents' `data`.
   */
  readonly release: number
}

/**
 * What totals are kept apart by: THE list, in the order in which exports and corrections show it. All that
 * names a row of `daily_usage` derives from it: SQL, the recount from calls, corrections, exports, the
 * queries of usage and their API description. CONTRIBUTING.md says what else a new one needs.
 */
const TABLE = [
  {
    field: 'day',
    column: 'day',
    type: 'date',
    key: 2,
    group: { name: 'day', place: 1, description: 'YYYY-MM-DD, UTC.' },
    release: 1,
  },
  {
    field: 'clientId',
    column: 'client_id',
    key: 1,
    bySubmitter: true,
    named: {
      table: 'clients',
      field: 'clientName',
      column: 'client_name',
      exported: 'client',
      description: 'The name of a client; null: all of them.',
    },
    group: { name: 'client', place: 4, description: 'The id of the client.', isClient: true },
    release: 1,
  },
  {
    // '': a correction by hand, which is for no key.
    field: 'keyId',
    column: 'key_id',
    key: 3,
    bySubmitter: true,
    named: {
      table: 'keys',
      field: 'keyName',
      column: 'key_name',
      exported: 'key',
      description: 'Its label; null: it is no longer known.',
    },
    group: { name: 'key', place: 3, description: 'The id of the key.' },
    release: 1,
  },
  {
    field: 'model',
    column: 'model',
    key: 4,
    group: {
      name: 'model',
      place: 2,
      description: 'The model that answered; a name in parentheses stands for several.',
    },
    release: 1,
  },
  { field: 'upstream', column: 'upstream', key: 5, release: 1 },
  // The upstream's.
  { field: 'provider', column: 'provider', release: 1 },
  // '': unpriced, or nothing to price.
  { field: 'priceId', column: 'price_id', key: 6, nullable: true, release: 1 },
] as const satisfies readonly Dimension[]

type Row = (typeof TABLE)[number]
type KeyRow = Extract<Row, { readonly key: number }>
type GroupRow = Extract<Row, { readonly group: object }>

export type DimensionField = Row['field']
export type KeyField = KeyRow['field']
export type KeyColumn = KeyRow['column']
/** A field for the name that people know a thing by. */
export type NameField = Extract<Row, { readonly named: object }>['named']['field']
/** A field that usage can be grouped by. */
export type GroupField = GroupRow['field']
/** The name of such a field in queries. */
export type UsageGroup = GroupRow['group']['name']

interface KnownDimension extends Dimension {
  readonly field: DimensionField
  readonly named?: NonNullable<Dimension['named']> & { readonly field: NameField }
}

export const DIMENSIONS: readonly KnownDimension[] = TABLE

type SubmitterRow = Extract<Row, { readonly bySubmitter: true }>
export type SubmitterField = SubmitterRow['field']

/** The dimensions that a job's use has from the call that submitted the job. */
export const SUBMITTER_DIMENSIONS: readonly Pick<SubmitterRow, 'field' | 'column'>[] = TABLE.filter(
  (row) => 'bySubmitter' in row,
)

/** The dimensions that exports got later: they have no place of their own in FOCUS. */
export const LATER_DIMENSIONS = DIMENSIONS.filter(({ release }) => release > 1)

/** The dimensions in the primary key of `daily_usage`, in its order. */
export const KEY_DIMENSIONS: readonly (Dimension & Pick<KeyRow, 'field' | 'column'>)[] = TABLE.filter(
  (row) => 'key' in row,
).toSorted((left, right) => left.key - right.key)

/** What usage may be grouped by, in the order in which messages and answers name it. */
export const GROUP_DIMENSIONS: readonly GroupDimension[] = TABLE.filter((row) => 'group' in row).toSorted(
  (left, right) => left.group.place - right.group.place,
)

export interface GroupDimension extends Pick<KnownDimension, 'column' | 'type' | 'named'> {
  readonly field: GroupField
  readonly group: NonNullable<Dimension['group']> & { readonly name: UsageGroup }
}

/** A column of rows, and the table whose `name` people know it by. */
export interface NamedDimension {
  readonly column: string
  readonly named?: { readonly table: string }
}

/** The joins from rows `u` to the names that people know their dimensions by. */
export function joinNames(dimensions: readonly NamedDimension[]): string {
  return dimensions
    .flatMap(({ column, named }) =>
      named === undefined
        ? []
        : [`left join ${SCHEMA}.${named.table} ${named.table} on ${named.table}.id = u.${column}`],
    )
    .join(' ')
}

/** Such a name, in SQL with those joins. */
export function nameIn({ table }: { readonly table: string }): string {
  return `${table}.name`
}
