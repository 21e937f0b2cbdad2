import { csvLine, safeName } from '../../src/usage/export/csv-text.ts'

/** A column as a file has it. */
export interface FileColumn<Row> {
  readonly heading: string
  /** Its value, exact; absent: it is not in the file. */
  readonly value?: (row: Row) => string | number | null
}

/** What is seen as CSV, names guarded as in every export. */
export function tableText<Row>(columns: readonly FileColumn<Row>[], rows: readonly Row[]): string {
  const kept = columns.filter(({ value }) => value !== undefined)
  const cellsOf = (row: Row) => kept.map(({ value }) => cellText(value?.(row) ?? ''))
  return [kept.map(({ heading }) => heading), ...rows.map(cellsOf)].map(csvLine).join('')
}

/** An amount below 0 is no formula. */
function cellText(value: string | number): string {
  return typeof value === 'number' || /^-?[0-9]+(?:\.[0-9]+)?$/.test(value) ? `${value}` : safeName(value)
}
