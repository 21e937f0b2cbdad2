import { usdTextOf } from '../../domain/pico-usd.ts'
import { EXPORT_COLUMNS, type ExportedRow } from './export-columns.ts'

/** Ends every line (RFC 4180). */
export const CSV_END = '\r\n'

export const CSV_HEADER = csvLine(EXPORT_COLUMNS.map(({ name }) => name))

const KINDS = EXPORT_COLUMNS.map(({ kind }) => kind)

/** One line of a `csv` export, with its end. */
export function csvRow(row: ExportedRow): string {
  let line = ''
  for (let place = 0; place < KINDS.length; place += 1) {
    const value = row[place] ?? null
    if (place > 0) line += ','
    if (KINDS[place] === 'count') line += value ?? '0'
    else if (KINDS[place] === 'usd') line += usdTextOf(value ?? '0')
    else if (value !== null && value !== '') line += quoted(safeName(value))
  }
  return line + CSV_END
}

/** Cells as one line, with its end; those that need it in quotes. */
export function csvLine(cells: readonly string[]): string {
  return cells.map(quoted).join(',') + CSV_END
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/**
 * A name as no spreadsheet takes it for a formula: where it begins with one of `= + - @`, a tab or a line's
 * end, an apostrophe is put before it. Names come from clients and upstreams.
 */
export function safeName(name: string): string {
  return /^[=+\-@\t\r\n]/.test(name) ? `'${name}` : name
}
