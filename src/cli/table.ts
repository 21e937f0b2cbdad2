/** A column of a table: its heading, and whether its cells are numbers that line up on the right. */
export interface Column {
  readonly heading: string
  readonly align?: 'right'
}

/** Rows in columns as wide as their widest cell, two spaces apart. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
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
