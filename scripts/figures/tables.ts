import { readFileSync } from 'node:fs'

/** A row of a table of a bench's results: its first cells, and the others by the title of their column. */
export interface ResultRow {
  /** The first cell; where it is empty, that of the row above. */
  readonly name: string
  /** The second cell. */
  readonly of: string
  readonly cells: ReadonlyMap<string, string>
}

/** A median with the lowest and the highest of its rounds, as results write it: `108.8 (89.1 to 140.9)`. */
export interface Figure {
  readonly median: number
  readonly lowest: number
  readonly highest: number
}

const RESULTS = new URL('../../bench/results/', import.meta.url)

export function readResults(bench: string): string {
  return readFileSync(new URL(`${bench}.md`, RESULTS), 'utf8')
}

/** Tells whether results have a heading that begins so. */
export function hasTable(bench: string, heading: string): boolean {
  return readResults(bench).includes(`\n## ${heading}`)
}

/**
 * The first table below a heading that begins with `heading`; '': of the page.
 *
 * @throws where there is none
 */
export function readTable(bench: string, heading = ''): readonly ResultRow[] {
  const text = readResults(bench)
  const from = heading === '' ? 0 : text.indexOf(`\n## ${heading}`)
  const [head, , ...lines] = from < 0 ? [] : linesOfTable(text.slice(from))
  if (head === undefined) throw new Error(`bench/results/${bench}.md has no table below ${heading}`)
  const all = cellsOf(head)
  // A title that comes again is of the column before it.
  const titles = all.map((title, at) => (all.indexOf(title) === at ? title : `${all[at - 1]}, ${title}`))
  let above = ''
  return lines.map((line) => {
    const cells = cellsOf(line)
    above = cells[0] || above
    return {
      name: above,
      of: cells[1] ?? '',
      cells: new Map(titles.map((title, at) => [title, cells[at] ?? ''])),
    }
  })
}

function linesOfTable(text: string): readonly string[] {
  const lines = text.split('\n')
  const first = lines.findIndex((line) => line.startsWith('|'))
  const length = lines.slice(first).findIndex((line) => !line.startsWith('|'))
  return first < 0 ? [] : lines.slice(first, length < 0 ? undefined : first + length)
}

function cellsOf(line: string): readonly string[] {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((cell) => cell.trim())
}

/** @throws where no row of that name, for that target, has such a cell */
export function figureIn(rows: readonly ResultRow[], name: string, of: string, title: string): Figure {
  const row = rows.find((one) => one.name.startsWith(name) && one.of === of)
  const cell = row?.cells.get(title) ?? ''
  const [, median = '', lowest = median, highest = median] =
    /^(-?[\d.]+)(?: \((-?[\d.]+) to (-?[\d.]+)\))?/.exec(cell) ?? []
  if (median === '') throw new Error(`no figure "${title}" of ${of} in "${name}"`)
  return { median: Number(median), lowest: Number(lowest), highest: Number(highest) }
}

/** Of many rows, by number. */
export function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** `[head, alignment, …rows]` as Markdown; the first column is text, all others are numbers. */
export function renderTable(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const rule = titles.map((_, at) => (at === 0 ? '---' : '---:'))
  return [titles, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`)
}

/** `11,100`: three digits that mean something, parted by commas. */
export function rounded(value: number, digits = 3): string {
  return Number(value.toPrecision(digits)).toLocaleString('en-US')
}

/** `0.67 to 0.84`, or one number where both are the same. */
export function rangeOf(figures: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...figures), Math.max(...figures)].map((figure) => figure.toFixed(digits))
  return low === high ? `${low}` : `${low} to ${high}`
}

/** Sentences as lines of pages. */
export function wrapped(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length + 1 > PAGE_WIDTH) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

const PAGE_WIDTH = 110
