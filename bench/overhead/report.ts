import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cell } from './cells.ts'
import type { Spread } from './figures.ts'
import type { Column, Part } from './parts/part.ts'
import type { Testbed } from './testbed.ts'

/** All that a run found. */
export interface Results {
  readonly testbed: Testbed
  /** Why the figures must not be quoted. */
  readonly warnings: readonly string[]
  readonly seconds: number
  readonly parts: readonly { readonly part: Part; readonly cells: readonly Cell[] }[]
}

/** Writes `overhead.json` and `overhead.md` into the folder. */
export function writeResults(folder: string, results: Results): void {
  mkdirSync(folder, { recursive: true })
  const { testbed, warnings, seconds, parts } = results
  const document = {
    testbed,
    warnings,
    seconds: Math.round(seconds),
    parts: Object.fromEntries(parts.map(({ part, cells }) => [part.name, cells])),
  }
  writeFileSync(join(folder, 'overhead.json'), `${JSON.stringify(document, roundFigure, 1)}\n`)
  writeFileSync(join(folder, 'overhead.md'), renderResults(results))
}

/** Six digits are more than any of these measurements is good for. */
function roundFigure(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value
}

export function renderResults({ testbed, warnings, seconds, parts }: Results): string {
  const { cpu, cores, memoryGb, system, node, date, commit, loadBefore, nginx } = testbed
  const lines = [
    '# What metering costs',
    '',
    'Written by `npm run bench`; docs/benchmarks.md describes each part. Medians of the rounds, lowest and highest in',
    'brackets. Comparisons are made within a round. `bare` is @fastify/http-proxy as it comes: no key, no metering.',
    '',
    `- ${cpu}, ${cores} cores, ${memoryGb} GB; ${system}; Node ${node}`,
    `- ${nginx ?? 'nginx is not installed here: its rows are missing'}`,
    `- ${date} UTC, commit ${commit}, ${Math.round(seconds / 60)} minutes, load at the beginning ${loadBefore}`,
    ...warnings.flatMap((warning) => ['', `**${warning}**`]),
  ]
  for (const { part, cells } of parts) {
    lines.push('', `## ${part.title}: \`--only ${part.name}\``, '', part.about, '')
    lines.push(...renderTable(part.columns, cells))
  }
  return `${lines.join('\n')}\n`
}

function renderTable(all: readonly Column[], cells: readonly Cell[]): string[] {
  const measured = new Set(cells.flatMap(({ targets }) => Object.values(targets).flatMap(figuresIn)))
  const columns = all.filter(({ figure }) => measured.has(figure))
  const rows = cells.flatMap((cell) =>
    Object.entries(cell.targets).map(([target, figures], index) => [
      index === 0 ? `${cell.name} (${cell.rounds} ${cell.rounds === 1 ? 'round' : 'rounds'})` : '',
      target,
      ...columns.map(({ figure, digits }) => renderSpread(figures[figure] ?? null, digits)),
    ]),
  )
  const titles = ['', '', ...columns.map(({ title }) => title)]
  const rule = titles.map((_, index) => (index < 2 ? '---' : '---:'))
  return [titles, rule, ...rows].map((row) => `| ${row.join(' | ')} |`)
}

function figuresIn(figures: Readonly<Record<string, Spread | null>>): string[] {
  return Object.keys(figures).filter((figure) => figures[figure] !== null)
}

export function renderSpread(spread: Spread | null, digits: number): string {
  if (spread === null) return ''
  const [median, lowest, highest] = [spread.median, spread.lowest, spread.highest].map((figure) =>
    figure.toFixed(digits),
  )
  return lowest === highest ? `${median}` : `${median} (${lowest} to ${highest})`
}
