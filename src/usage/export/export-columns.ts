import { usdTextOf } from '../../domain/pico-usd.ts'
import type { DailyRow } from '../daily-row.ts'
import { DIMENSIONS, LATER_DIMENSIONS, type NameField, nameIn } from '../dimensions.ts'
import { CORRECTIONS, correctedIn, METRICS } from '../metrics-table.ts'
import { CSV_END, csvCell, csvLine, safeName } from './csv-text.ts'

export interface ExportColumn {
  readonly name: string
  /** Amounts of money are exact decimal text, whole numbers are numbers. */
  readonly kind: 'text' | 'count' | 'usd'
  /** Its value in a row `u` of `daily_usage` with the names joined. Money is 1e-12 USD. */
  readonly sql: string
  /** The release of the exports that brought it. */
  readonly release: number
}

/** The values of `EXPORT_COLUMNS` in their order, as SQL gives them. */
export type ExportedRow = readonly (string | null)[]

/** A dimension, and behind it the name that people know it by. */
const DIMENSION_COLUMNS = DIMENSIONS.flatMap(({ column, named, release }): readonly ExportColumn[] => [
  { name: column, kind: 'text', sql: `u.${column}`, release },
  ...(named === undefined
    ? []
    : [{ name: named.exported, kind: 'text', sql: nameIn(named), release } as const]),
])

const COST_COLUMNS = METRICS.filter(({ field }) => field === 'costPico').flatMap(
  (metric): readonly ExportColumn[] => [
    { name: 'metered_usd', kind: 'usd', sql: `u.${metric.column}`, release: 1 },
    ...CORRECTIONS.filter(({ of }) => of === metric.field).map(
      ({ column }) => ({ name: 'adjusted_usd', kind: 'usd', sql: `u.${column}`, release: 1 }) as const,
    ),
    { name: 'cost_usd', kind: 'usd', sql: correctedIn('u', metric), release: 1 },
  ],
)

const METRIC_COLUMNS = METRICS.flatMap((metric): readonly ExportColumn[] => {
  if (metric.release === null) return []
  if (metric.field === 'costPico') return COST_COLUMNS
  const { column, release } = metric
  return [{ name: column, kind: 'count', sql: correctedIn('u', metric), release }]
})

/** The group that the client was in on the day. */
const GROUP_COLUMNS: readonly ExportColumn[] = [
  { name: 'group_id', kind: 'text', sql: 'g.id', release: 4 },
  { name: 'group_name', kind: 'text', sql: 'g.name', release: 4 },
]

/** The columns of the `csv` and `jsonl` exports. New ones are only ever added at the end. */
export const EXPORT_COLUMNS: readonly ExportColumn[] = [
  ...DIMENSION_COLUMNS,
  ...METRIC_COLUMNS,
  ...GROUP_COLUMNS,
].toSorted((left, right) => left.release - right.release)

const OF_VALUES: ReadonlySet<string> = new Set(['day', 'client_id', 'client'])

/** The columns of the same exports by the values of an axis, of which only day and client are kept apart. */
export const AXIS_COLUMNS: readonly ExportColumn[] = [
  ...DIMENSION_COLUMNS.filter(({ name }) => OF_VALUES.has(name)),
  { name: 'axis_value', kind: 'text', sql: 'u.axis_value', release: 4 },
  ...METRIC_COLUMNS.toSorted((left, right) => left.release - right.release),
]

/** One line of a `jsonl` export, without its end. */
export function jsonLine(row: ExportedRow, columns = EXPORT_COLUMNS): string {
  const values: Record<string, string | number | null> = {}
  for (const [place, { name, kind }] of columns.entries()) {
    const value = row[place] ?? null
    if (kind === 'text') values[name] = value === '' ? null : value
    else values[name] = kind === 'usd' ? usdTextOf(value ?? '0') : Number(value)
  }
  return JSON.stringify(values)
}

/** A row of daily totals as it is given to other programs, with the names that people know things by. */
export interface ExportedDay extends DailyRow, Readonly<Record<NameField, string | null>> {}

/** The dimensions that came after the first release of the exports, by column, where they have a value. */
export function laterDimensions(
  value: (dimension: (typeof LATER_DIMENSIONS)[number]) => string,
): Readonly<Record<string, string>> {
  const values = LATER_DIMENSIONS.map((dimension) => [dimension.column, value(dimension)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== ''))
}

export function csvHeader(columns: readonly ExportColumn[]): string {
  return csvLine(columns.map(({ name }) => name))
}

/** One line of a `csv` export, with its end. */
export function csvRow(row: ExportedRow, columns = EXPORT_COLUMNS): string {
  let line = ''
  for (let place = 0; place < columns.length; place += 1) {
    const value = row[place] ?? null
    const kind = columns[place]?.kind
    if (place > 0) line += ','
    if (kind === 'count') line += value ?? '0'
    else if (kind === 'usd') line += usdTextOf(value ?? '0')
    else if (value !== null && value !== '') line += csvCell(safeName(value))
  }
  return line + CSV_END
}
