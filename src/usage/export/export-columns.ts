import { usdTextOf } from '../../domain/pico-usd.ts'
import { nameIn } from '../dimension-names.ts'
import { DIMENSIONS } from '../dimensions.ts'
import { CORRECTIONS, correctedIn, METRICS } from '../metrics-table.ts'

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

/** The columns of the `csv` and `jsonl` exports. New ones are only ever added at the end. */
export const EXPORT_COLUMNS: readonly ExportColumn[] = [...DIMENSION_COLUMNS, ...METRIC_COLUMNS].toSorted(
  (left, right) => left.release - right.release,
)

/** One line of a `jsonl` export, without its end. */
export function jsonLine(row: ExportedRow): string {
  const values: Record<string, string | number | null> = {}
  for (const [place, { name, kind }] of EXPORT_COLUMNS.entries()) {
    const value = row[place] ?? null
    if (kind === 'text') values[name] = value === '' ? null : value
    else values[name] = kind === 'usd' ? usdTextOf(value ?? '0') : Number(value)
  }
  return JSON.stringify(values)
}
