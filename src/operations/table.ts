import { styleText } from 'node:util'
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

/**
 * Rows in columns as wide as their widest cell, two spaces apart. Amounts stand with their points under each other. It
 * has colours: {@link ../cli/run.ts} takes them out where no terminal shows them.
 *
 * @param total The last line, which sums up the others.
 */
export function renderTable(
  columns: readonly Heading[],
  rows: readonly (readonly string[])[],
  total?: readonly string[],
): string {
  const below = total === undefined ? rows : [...rows, total]
  const fractions = columns.map(({ align }, index) =>
    align === 'right' ? fractionOf(below.map((row) => row[index] ?? '')) : 0,
  )
  const shown = below.map((row) => row.map((cell, index) => atPoint(printable(cell), fractions[index] ?? 0)))
  const cells = [columns.map(({ heading }) => heading), ...shown]
  const widths = columns.map((_column, index) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[index] ?? '')), 0),
  )
  return cells
    .map((row, at) => {
      const line = columns.map(({ align }, index) => pad(row[index] ?? '', widths[index] ?? 0, align))
      if (at === 0 || (total !== undefined && at === cells.length - 1))
        return styleText('bold', line.join('  ').trimEnd(), EVERYWHERE)
      return line
        .map((cell, index) => inColour(cell, row[index] ?? ''))
        .join('  ')
        .trimEnd()
    })
    .join('\n')
}

const EVERYWHERE = { validateStream: false }

/** States that all commands name alike. */
const COLOURS: Readonly<Record<string, 'green' | 'yellow' | 'red' | 'gray'>> = {
  ok: 'green',
  note: 'yellow',
  hint: 'yellow',
  soft: 'yellow',
  WRONG: 'red',
  failed: 'red',
  refused: 'red',
  disabled: 'gray',
  revoked: 'gray',
  expired: 'gray',
}

/** @param state The text without what pads it. */
export function inColour(text: string, state: string): string {
  const colour = Object.hasOwn(COLOURS, state) ? COLOURS[state] : undefined
  return colour === undefined ? text : styleText(colour, text, EVERYWHERE)
}

/**
 * Names come from clients and upstreams: characters that would move the cursor or reverse the text are
 * replaced.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{FFFD}')
}

const AMOUNT = /^-?\d+(\.\d+)?$/

/** The longest fraction in a column of numbers, with its point. */
function fractionOf(cells: readonly string[]): number {
  return cells.reduce((longest, cell) => Math.max(longest, AMOUNT.exec(cell)?.[1]?.length ?? 0), 0)
}

function atPoint(cell: string, fraction: number): string {
  const found = fraction === 0 ? null : AMOUNT.exec(cell)
  return found === null ? cell : cell + ' '.repeat(fraction - (found[1]?.length ?? 0))
}

function pad(cell: string, width: number, align: 'right' | undefined): string {
  const space = ' '.repeat(width - widthOf(cell))
  return align === 'right' ? space + cell : cell + space
}

/** What a terminal shows over two columns: https://www.unicode.org/reports/tr11/ */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u
const NO_WIDTH = /\p{M}/u
const PLAIN = /^[\x20-\x7e]*$/

/** How many columns of a terminal a text takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const character of text) width += NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return width
}
