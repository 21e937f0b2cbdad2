import type { UtcDay } from '../../domain/utc-day.ts'
import { type PostgresSession, queryLong } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { DIMENSIONS, type DimensionField } from '../dimensions.ts'
import { correctedIn, METRICS } from '../metrics-table.ts'
import {
  BYTE_FIELDS,
  RELIABILITY_FIELDS,
  SUMMARY_FIELDS,
  TOKEN_CLASS_FIELDS,
  type UNPRICED_FIELDS,
} from '../query/usage-figures.ts'

/** A table with a row for each call's day that says more, whose sums these are. */
export type SummedTable = 'daily_usage' | 'daily_latency'

/** Sums of whole days, and of whole months, kept apart by the same dimensions. */
export interface SummaryTables {
  readonly of: SummedTable
  /** Beside the day or the month. */
  readonly by: readonly DimensionField[]
  /** `null`: days are not summed up by these, as that would be the summed table again. */
  readonly days: string | null
  readonly months: string
  /** The one of which this one's days are sums; `null`: the summed table. Months are sums of days. */
  readonly from: SummaryTables | null
}

const BY_KEY: SummaryTables = {
  of: 'daily_usage',
  by: ['clientId', 'keyId'],
  days: 'usage_days_by_key',
  months: 'usage_months_by_key',
  from: null,
}
const BY_CLIENT: SummaryTables = {
  of: 'daily_usage',
  by: ['clientId'],
  days: 'usage_days_by_client',
  months: 'usage_months_by_client',
  from: BY_KEY,
}

/**
 * All of them, each behind the one that it is made from. An answer takes the first that has all that it is
 * grouped by: those with fewer rows stand before those with more.
 */
export const SUMMARY_TABLES: readonly SummaryTables[] = [
  { of: 'daily_usage', by: [], days: 'usage_days', months: 'usage_months', from: BY_CLIENT },
  {
    of: 'daily_usage',
    by: ['model', 'upstream', 'provider'],
    days: 'usage_days_by_model',
    months: 'usage_months_by_model',
    from: null,
  },
  BY_CLIENT,
  {
    of: 'daily_usage',
    by: ['clientId', 'model'],
    days: 'usage_days_by_client_model',
    months: 'usage_months_by_client_model',
    from: null,
  },
  BY_KEY,
  {
    of: 'daily_usage',
    by: ['clientId', 'keyId', 'model'],
    days: null,
    months: 'usage_months_by_key_model',
    from: null,
  },
]

const LATENCY_BY_MODEL: SummaryTables = {
  of: 'daily_latency',
  by: ['model'],
  days: 'latency_days_by_model',
  months: 'latency_months_by_model',
  from: null,
}

/** The same of the histograms of latencies. */
export const LATENCY_TABLES: readonly SummaryTables[] = [
  { of: 'daily_latency', by: [], days: 'latency_days', months: 'latency_months', from: LATENCY_BY_MODEL },
  LATENCY_BY_MODEL,
  {
    of: 'daily_latency',
    by: ['clientId'],
    days: 'latency_days_by_client',
    months: 'latency_months_by_client',
    from: null,
  },
  {
    of: 'daily_latency',
    by: ['clientId', 'model'],
    days: null,
    months: 'latency_months_by_client_model',
    from: null,
  },
]

export const ALL_TABLES: readonly SummaryTables[] = [...SUMMARY_TABLES, ...LATENCY_TABLES]

/** Those in which what these dimensions tell apart is apart; `null`: there are none. */
export function findSummaryTables(
  fields: readonly DimensionField[],
  among: readonly SummaryTables[] = SUMMARY_TABLES,
): SummaryTables | null {
  return among.find(({ by }) => fields.every((field) => by.includes(field))) ?? null
}

const COLUMN_OF = new Map<DimensionField, string>(DIMENSIONS.map(({ field, column }) => [field, column]))

/** The column of each of these dimensions. */
export function columnsOfFields(fields: readonly DimensionField[]): readonly string[] {
  return fields.flatMap((field) => COLUMN_OF.get(field) ?? [])
}

/** A sum that answers about usage show. */
export interface SummaryColumn<Field extends string = SummaryField> {
  /** In code. */
  readonly field: Field
  /** In the tables of summaries. */
  readonly column: string
  /** What a row `u` of the summed table adds to it, in SQL. */
  readonly ofRow: string
  /** Stored as `null` where it is 0, as most are. */
  readonly isRare: boolean
}

export type SummaryField =
  | (typeof SUMMARY_FIELDS)[number]
  | (typeof RELIABILITY_FIELDS)[number]
  | (typeof UNPRICED_FIELDS)[number]
  | (typeof TOKEN_CLASS_FIELDS)[number]
  | (typeof BYTE_FIELDS)[number]
  | 'unpricedLeft'

/**
 * Rows that still have calls without a cost. Which tokens of a row have no price is unknown once a repricing
 * has priced a part of its calls.
 */
export const LEFT_UNPRICED = 'u.unpriced > coalesce(u.priced_later, 0)'

function metered(
  fields: readonly (
    | typeof SUMMARY_FIELDS
    | typeof RELIABILITY_FIELDS
    | typeof TOKEN_CLASS_FIELDS
    | typeof BYTE_FIELDS
  )[number][],
  isRare: boolean,
): readonly SummaryColumn[] {
  return fields.flatMap((field) =>
    METRICS.filter((metric) => metric.field === field).map((metric) => ({
      field,
      column: metric.column,
      ofRow: correctedIn('u', metric),
      isRare,
    })),
  )
}

function whereUnpriced(field: SummaryField, column: string, ofRow: string): SummaryColumn {
  return { field, column, ofRow: `case when ${LEFT_UNPRICED} then ${ofRow} end`, isRare: true }
}

/** All of them, in the order of the tables. */
export const SUMMARY_COLUMNS: readonly SummaryColumn[] = [
  ...metered(SUMMARY_FIELDS, false),
  ...metered(RELIABILITY_FIELDS, true),
  whereUnpriced('unpricedLeft', 'unpriced_left', 'u.unpriced - coalesce(u.priced_later, 0)'),
  whereUnpriced('unpricedInputTokens', 'unpriced_input_tokens', 'u.input_tokens'),
  whereUnpriced('unpricedOutputTokens', 'unpriced_output_tokens', 'u.output_tokens'),
  {
    field: 'partlyUnpriced',
    column: 'partly_unpriced',
    // Prices that leave something out say what.
    ofRow: `case when u.price_id in (select price_id from ${SCHEMA}.prices where definition ? 'unpriced')
      then u.requests + coalesce(u.settlements, 0) end`,
    isRare: true,
  },
  ...metered(TOKEN_CLASS_FIELDS, true),
  // Days that were summed up before there were any have null, and no bytes.
  ...metered(BYTE_FIELDS, true),
]

/** The histograms: of latencies, and of the times to the first byte, which rows of releases before 0039 lack. */
export const LATENCY_COLUMNS: readonly SummaryColumn<'buckets' | 'firstBytes'>[] = [
  { field: 'buckets', column: 'buckets', ofRow: 'u.buckets', isRare: false },
  { field: 'firstBytes', column: 'first_bytes', ofRow: 'u.first_bytes', isRare: true },
]

const COLUMNS_OF: Readonly<Record<SummedTable, readonly SummaryColumn<string>[]>> = {
  daily_usage: SUMMARY_COLUMNS,
  daily_latency: LATENCY_COLUMNS,
}

/** The columns of such a table beside what it is by. */
export function columnsIn({ of }: SummaryTables): readonly string[] {
  return COLUMNS_OF[of].map(({ column }) => column)
}

/** The sums of rows `u` of the summed table, or of sums. */
export function sumsIn({ of }: SummaryTables, source: string): readonly string[] {
  return COLUMNS_OF[of].map(({ ofRow, column, isRare }) => {
    const sum = `sum(${source === of ? ofRow : `u.${column}`})`
    return isRare ? `nullif(${sum}, 0)` : sum
  })
}

/** Those that others are made of come first. */
const IN_ORDER = ALL_TABLES.toReversed()

/** Writes the sums of the rows of a table, over the days from `$1` to `$2`, as those of the day `$1`. */
function insertInto(table: string, tables: SummaryTables, from: string): string {
  const kept = columnsOfFields(tables.by)
  // In the order of the key: all that a client asks for lies on few pages.
  const grouping =
    kept.length === 0 ? 'having count(*) > 0' : `group by ${kept.join(', ')} order by ${kept.join(', ')}`
  return `insert into ${SCHEMA}.${table} (${[...kept, 'day', ...columnsIn(tables)].join(', ')})
    select ${[...kept, '$1::date', ...sumsIn(tables, from)].join(', ')} from ${SCHEMA}.${from} u
    where u.day between $1 and $2 ${grouping}`
}

const DAY_STATEMENTS = IN_ORDER.flatMap((tables) => {
  const { days, from } = tables
  if (days === null) return []
  return [
    `delete from ${SCHEMA}.${days} where day between $1 and $2`,
    insertInto(days, tables, from?.days ?? tables.of),
  ]
})

const MONTH_STATEMENTS = IN_ORDER.flatMap((tables) => {
  const { days, months } = tables
  return [
    `delete from ${SCHEMA}.${months} where day between $1 and $2`,
    insertInto(months, tables, days ?? tables.of),
  ]
})

/** Replaces the sums of a day by those of its rows. */
export async function writeDay(session: PostgresSession, day: UtcDay): Promise<void> {
  for (const statement of DAY_STATEMENTS) await queryLong(session, statement, [day, day])
}

/** Replaces the sums of a month by those of its days. One sum is of its rows, which may be millions, and takes long. */
export async function writeMonth(session: PostgresSession, firstDay: UtcDay, lastDay: UtcDay): Promise<void> {
  for (const statement of MONTH_STATEMENTS) await queryLong(session, statement, [firstDay, lastDay])
}
