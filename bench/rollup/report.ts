import { headOf, tableOf } from '../stand/results.ts'
import type { Testbed } from '../stand/testbed.ts'
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

const ABOUT = [
  'Written by `npm run bench:rollup`. Streams are filled first, then workers are started as in production; figures are',
  'of what they did once each worker had warmed up. Rates compare only within one table. The chain rate is what one worker',
  'did without the time that its main thread, its Postgres backends and Redis waited for a core, and at most what the',
  'busiest of them could do. Totals were exact in every case.',
]

export function renderRollUp({ testbed, warnings, entries, warmUpPerWorker, rows }: RollUpResults): string {
  const run = `${entries} entries a case after ${warmUpPerWorker} of each worker, `
  const head = headOf('What the roll-up costs', ABOUT, testbed, { run, warnings })
  return `${[...head, ...tableOf(TITLES, rows.map(cellsOf), 4)].join('\n')}\n`
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
