import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Testbed } from '../overhead/testbed.ts'
import type { RollUpCase } from './case.ts'
import type { RolledUpFigures } from './watch.ts'

export interface RollUpRow extends RollUpCase, RolledUpFigures {
  /** Whose workers: this checkout's, or those of the one beside it. */
  readonly of: string
}

export interface RollUpResults {
  readonly testbed: Testbed
  readonly warnings: readonly string[]
  readonly entries: number
  readonly warmUpPerWorker: number
  readonly rows: readonly RollUpRow[]
}

/** Writes `rollup.json` and `rollup.md` into the folder. */
export function writeRollUpResults(folder: string, results: RollUpResults): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'rollup.json'), `${JSON.stringify(results, roundFigure, 1)}\n`)
  writeFileSync(join(folder, 'rollup.md'), renderRollUp(results))
}

function roundFigure(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value
}

const TITLES = [
  '',
  'workers × shards',
  'clients × models',
  'calls kept',
  'entries/s',
  'chain rate',
  'worker (main thread), µs/entry',
  'Postgres (backends), µs/entry',
  'Redis, µs/entry',
  'lock waits',
  'WAL, B/entry',
]

export function renderRollUp({ testbed, warnings, entries, warmUpPerWorker, rows }: RollUpResults): string {
  const { cpu, cores, memoryGb, system, node, date, commit, loadBefore } = testbed
  const lines = [
    '# What the roll-up costs',
    '',
    'Written by `npm run bench:rollup`. Streams are filled first, then workers are started as in production; figures are',
    'of what they did once each worker had warmed up. Rates compare only within one table. The chain rate is what one worker',
    'did without the time that its main thread, its Postgres backends and Redis waited for a core, and at most what the',
    'busiest of them could do. Totals were exact in every case.',
    '',
    `- ${cpu}, ${cores} cores, ${memoryGb} GB; ${system}; Node ${node}`,
    `- ${date} UTC, commit ${commit}, ${entries} entries a case after ${warmUpPerWorker} of each worker, load at the beginning ${loadBefore}`,
    ...warnings.flatMap((warning) => ['', `**${warning}**`]),
    '',
    `| ${TITLES.join(' | ')} |`,
    `| ${TITLES.map((_, index) => (index < 4 ? '---' : '---:')).join(' | ')} |`,
    ...rows.map((row) => `| ${cellsOf(row).join(' | ')} |`),
  ]
  return `${lines.join('\n')}\n`
}

export function cellsOf(row: RollUpRow): string[] {
  return [
    row.of,
    `${row.workers} × ${row.shards}`,
    `${row.clients} × 3`,
    row.calls ? 'yes' : 'no',
    row.entriesPerSecond.toFixed(0),
    row.chainRate === null ? '' : row.chainRate.toFixed(0),
    `${row.workerUs.toFixed(1)} (${row.workerMainUs.toFixed(1)})`,
    `${row.postgresUs.toFixed(1)} (${row.backendsUs.toFixed(1)})`,
    row.redisUs.toFixed(1),
    `${(row.lockWaits * 100).toFixed(1)} %`,
    row.walBytesPerEntry.toFixed(0),
  ]
}
