import { picoToUsdText } from '../../domain/pico-usd.ts'
import { EXPORT_COLUMNS, type ExportedCell } from './export-columns.ts'
import type { ExportedDay } from './exported-day.ts'

/** Ends every line (RFC 4180). */
export const CSV_END = '\r\n'

export const CSV_HEADER = csvLine(EXPORT_COLUMNS.map(({ name }) => name))

/** One line of a `csv` export, with its end. */
export function csvRow(row: ExportedDay): string {
  return csvLine(EXPORT_COLUMNS.map(({ cell }) => csvText(cell(row))))
}

function csvText(cell: ExportedCell): string {
  switch (cell.kind) {
    case 'text':
      return safeName(cell.text ?? '')
    case 'count':
      return `${cell.count}`
    case 'usd':
      return picoToUsdText(cell.pico)
    default:
      return cell satisfies never
  }
}

/** Cells as one line, with its end; those that need it in quotes. */
export function csvLine(cells: readonly string[]): string {
  return (
    cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',') +
    CSV_END
  )
}

/**
 * A name as no spreadsheet takes it for a formula: where it begins with one of `= + - @`, a tab or a line's
 * end, an apostrophe is put before it. Names come from clients and upstreams.
 */
export function safeName(name: string): string {
  return /^[=+\-@\t\r\n]/.test(name) ? `'${name}` : name
}
