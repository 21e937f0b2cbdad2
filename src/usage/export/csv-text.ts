/** Ends every line (RFC 4180). */
export const CSV_END = '\r\n'

/** Cells as one line, with its end; those that need it in quotes. */
export function csvLine(cells: readonly string[]): string {
  return cells.map(csvCell).join(',') + CSV_END
}

/** A cell, in quotes where it needs them. */
export function csvCell(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/**
 * A name as no spreadsheet takes it for a formula: where it begins with one of `= + - @`, a tab or a line's
 * end, an apostrophe is put before it. Control characters, which terminals obey, become U+FFFD. Names come from
 * clients and upstreams.
 */
export function safeName(name: string): string {
  const shown = CONTROL.test(name) ? name.replaceAll(CONTROLS, '\ufffd') : name
  return /^[=+\-@\ufffd]/.test(shown) ? `'${shown}` : shown
}

const CONTROL = /\p{Cc}/u
const CONTROLS = /\p{Cc}/gu
