import { picoToUsdText } from '../../domain/pico-usd.ts'
import { corrected } from '../daily-row.ts'
import { DIMENSIONS } from '../dimensions.ts'
import { METRICS } from '../metrics-table.ts'
import type { ExportedDay } from './exported-day.ts'

/** A cell of an export. Amounts of money are exact decimal text, whole numbers are numbers. */
export type ExportedCell =
  | { readonly kind: 'text'; readonly text: string | null }
  | { readonly kind: 'count'; readonly count: bigint }
  | { readonly kind: 'usd'; readonly pico: bigint }

export interface ExportColumn {
  readonly name: string
  readonly cell: (row: ExportedDay) => ExportedCell
  /** The release of the exports that brought it. */
  readonly release: number
}

function text(name: string, release: number, pick: (row: ExportedDay) => string | null): ExportColumn {
  return { name, cell: (row) => ({ kind: 'text', text: pick(row) }), release }
}

/** A dimension, and behind it the name that people know it by. */
const DIMENSION_COLUMNS = DIMENSIONS.flatMap(({ field, column, named, release }) => [
  text(column, release, (row) => (row[field] === '' ? null : row[field])),
  ...(named === undefined ? [] : [text(named.exported, release, (row) => row[named.field])]),
])

function usd(name: string, pico: (row: ExportedDay) => bigint): ExportColumn {
  return { name, cell: (row) => ({ kind: 'usd', pico: pico(row) }), release: 1 }
}

const COST_COLUMNS = [
  usd('metered_usd', ({ costPico }) => costPico),
  usd('adjusted_usd', ({ adjustedPico }) => adjustedPico),
  usd('cost_usd', (row) => corrected(row, 'costPico')),
]

const METRIC_COLUMNS = METRICS.flatMap((metric): readonly ExportColumn[] => {
  if (metric.kind === 'histogram' || metric.release === null) return []
  if (metric.field === 'costPico') return COST_COLUMNS
  const { field, column, release } = metric
  return [{ name: column, cell: (row) => ({ kind: 'count', count: corrected(row, field) }), release }]
})

/** The columns of the `csv` and `jsonl` exports. New ones are only ever added at the end. */
export const EXPORT_COLUMNS: readonly ExportColumn[] = [...DIMENSION_COLUMNS, ...METRIC_COLUMNS].toSorted(
  (left, right) => left.release - right.release,
)

/** One line of a `jsonl` export, without its end. */
export function jsonLine(row: ExportedDay): string {
  return JSON.stringify(
    Object.fromEntries(EXPORT_COLUMNS.map(({ name, cell }) => [name, jsonValue(cell(row))])),
  )
}

function jsonValue(cell: ExportedCell): string | number | null {
  switch (cell.kind) {
    case 'text':
      return cell.text
    case 'count':
      return Number(cell.count)
    case 'usd':
      return picoToUsdText(cell.pico)
    default:
      return cell satisfies never
  }
}
