import type { Column, Listing } from './operation.ts'

/** A list as a table, or the sentence that stands for an empty one. */
export function renderListing<Row>({ columns, empty }: Listing<Row>, rows: readonly Row[]): string {
  if (rows.length === 0) return empty
  return renderTable(
    columns,
    rows.map((row) => columns.map(({ cell }) => cell(row))),
  )
}

type Heading = Pick<Column<never>, 'heading' | 'align'>

/** Rows in columns as wide as their widest cell, two spaces apart. */
export function renderTable(columns: readonly Heading[], rows: readonly (readonly string[])[]): string {
  const cells = [columns.map(({ heading }) => heading), ...rows].map((row) => row.map(printable))
  const widths = columns.map((_column, index) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[index] ?? '')), 0),
  )
  const lines = cells.map((row) =>
    columns.map(({ align }, index) => pad(row[index] ?? '', widths[index] ?? 0, align)).join('  '),
  )
  return lines.map((line) => line.trimEnd()).join('\n')
}

/**
 * Names come from clients and upstreams: characters that would move the cursor or reverse the text are
 * replaced.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{FFFD}')
}

function pad(cell: string, width: number, align: 'right' | undefined): string {
  const space = ' '.repeat(width - widthOf(cell))
  return align === 'right' ? space + cell : cell + space
}

function widthOf(cell: string): number {
  return [...cell].length
}
