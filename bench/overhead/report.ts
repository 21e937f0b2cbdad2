import type { Spread } from '../stand/figures.ts'
import { headOf, tableOf, writeResults } from '../stand/results.ts'
import type { Testbed } from '../stand/testbed.ts'
import type { Cell } from './cells.ts'
import type { Column, Part } from './parts/part.ts'

/** All that a run found. */
export interface Results {
  readonly testbed: Testbed
  /** Why the figures must not be quoted. */
  readonly warnings: readonly string[]
  readonly seconds: number
  readonly parts: readonly { readonly part: Part; readonly cells: readonly Cell[] }[]
}

/** Writes `overhead.json` and `overhead.md` into the folder. */
export function writeOverhead(folder: string, results: Results): void {
  const { testbed, warnings, seconds, parts } = results
  writeResults(folder, 'overhead', renderResults(results), {
    testbed,
    warnings,
    seconds: Math.round(seconds),
    parts: Object.fromEntries(parts.map(({ part, cells }) => [part.name, cells])),
  })
}

const ABOUT = [
  'Written by `npm run bench`; docs/benchmarks.md describes each part. Medians of the rounds, lowest and highest in',
  'brackets. Comparisons are made within a round. `bare` is @fastify/http-proxy as it comes: no key, no metering.',
]

export function renderResults({ testbed, warnings, seconds, parts }: Results): string {
  const lines = headOf('What metering costs', ABOUT, testbed, {
    run: `${Math.round(seconds / 60)} minutes, `,
    more: [testbed.nginx ?? 'nginx is not installed here: its rows are missing'],
    warnings,
  })
  return [...lines, ...parts.flatMap(renderPart)].join('\n')
}

/** The lines of one part's chapter. */
export function renderPart({ part, cells }: Results['parts'][number]): string[] {
  const title = `## ${part.title}: \`--only ${part.name}\``
  return [title, '', part.about, '', ...renderTable(part.columns, cells), '']
}

function renderTable(all: readonly Column[], cells: readonly Cell[]): string[] {
  const measured = new Set(cells.flatMap(({ targets }) => Object.values(targets).flatMap(figuresIn)))
  const columns = all.filter(({ figure }) => measured.has(figure))
  const rows = cells.flatMap((cell) =>
    Object.entries(cell.targets).map(([target, figures], index) => [
      index === 0 ? `${cell.name} (${cell.rounds} ${cell.rounds === 1 ? 'round' : 'rounds'})` : '',
      target,
      ...columns.map((column) => renderSpread(figures[column.figure] ?? null, column)),
    ]),
  )
  return tableOf(['', '', ...columns.map(({ title }) => title)], rows, 2)
}

function figuresIn(figures: Readonly<Record<string, Spread | null>>): string[] {
  return Object.keys(figures).filter((figure) => figures[figure] !== null)
}

export function renderSpread(
  spread: Spread | null,
  { digits, around = 'range' }: Pick<Column, 'digits' | 'around'>,
): string {
  if (spread === null) return ''
  const { median, lowest, highest, interval } = spread
  const bounds = around === 'interval' ? interval : [lowest, highest]
  const [middle, from, to] = [median, ...bounds].map((figure) => figure.toFixed(digits))
  return from === to ? `${middle}` : `${middle} (${from} to ${to})`
}
