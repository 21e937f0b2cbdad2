import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Testbed } from './testbed.ts'

/** Writes `NAME.md` into the folder, and `NAME.json` for programs, which is not in git. */
export function writeResults(folder: string, name: string, text: string, document: object): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(document, roundFigure, 1)}\n`)
  writeFileSync(join(folder, `${name}.md`), text)
}

/** Six digits are more than any of these measurements is good for. */
function roundFigure(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value
}

/** What stands first in a bench's results: its title, what it is, where and when it ran, and why not to quote it. */
export function headOf(
  title: string,
  about: readonly string[],
  { cpu, cores, memoryGb, system, node, date, commit, loadBefore }: Testbed,
  { run = '', more = [], warnings = [] }: RunDetails,
): string[] {
  return [
    `# ${title}`,
    '',
    ...about,
    '',
    `- ${cpu}, ${cores} cores, ${memoryGb} GB; ${system}; Node ${node}`,
    `- ${date} UTC, commit ${commit}, ${run}load at the beginning ${loadBefore}`,
    ...more.map((line) => `- ${line}`),
    ...warnings.flatMap((warning) => ['', `**${warning}**`]),
    '',
  ]
}

export interface RunDetails {
  /** Of its size, within the line of date and commit; ends with a comma. */
  readonly run?: string
  /** Lines below. */
  readonly more?: readonly string[]
  readonly warnings?: readonly string[]
}

/** As Markdown: the first `texts` columns are text, all others are numbers. */
export function tableOf(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  texts = 1,
): string[] {
  const rule = titles.map((_, index) => (index < texts ? '---' : '---:'))
  return [titles, rule, ...rows].map((row) => `| ${row.join(' | ')} |`)
}
