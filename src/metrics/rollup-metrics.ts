import { Counter, Gauge, Registry } from 'prom-client'
import type { ProcessMetrics } from './figures.ts'
import { lastKnown } from './last-known.ts'
import { showProgram } from './metrics.ts'

/** Sums of a worker since it began. */
export interface CountedSums {
  readonly counted: number
  readonly corrupt: number
  readonly deadLetters: number
  readonly callsSkipped: number
  readonly gaps: number
}

/** A stream that this worker counts, and what waits on it. */
export interface ShardLag {
  /** The stream's number. */
  readonly shard: string
  readonly entries: number
  /** Since the oldest of them was appended; 0: none waits. */
  readonly oldestMs: number
}

export interface WorkerMetricsOptions {
  readonly sums: () => CountedSums
  /** Of the shards that this worker counts, at most `STREAM_SHARDS`; asked at every scrape. */
  readonly lags: () => Promise<readonly ShardLag[]>
  /** What the worker cannot do now, in a sentence; `null`: it is well. */
  readonly problem: () => Promise<string | null>
  readonly version: string
}

type SumCounter = readonly [name: string, help: string, read: (sums: CountedSums) => number]

const SUMS: readonly SumCounter[] = [
  ['tallygate_worker_counted_records_total', 'Records that this worker has counted.', (of) => of.counted],
  [
    'tallygate_worker_dead_letters_total',
    'Records that it could not count: `tallygate dead-letters list`.',
    (of) => of.deadLetters,
  ],
  [
    'tallygate_worker_gaps_total',
    'Ranges of records that it found missing: `tallygate ledger gaps`.',
    (of) => of.gaps,
  ],
  [
    'tallygate_worker_damaged_entries_total',
    'Entries that it could not read and deleted: their gateways send them again.',
    (of) => of.corrupt,
  ],
  [
    'tallygate_worker_unkept_calls_total',
    'Calls that it counted and could not keep as single calls.',
    (of) => of.callsSkipped,
  ],
]

export interface WorkerMetrics {
  readonly contentType: string
  render(): Promise<string>
  figures(): Promise<ProcessMetrics>
}

/** The metrics of a worker, in a registry of their own. No label names a client, a key or a model. */
export function buildWorkerMetrics({ sums, lags, problem, version }: WorkerMetricsOptions): WorkerMetrics {
  const registry = new Registry()
  for (const [name, help, read] of SUMS) {
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(read(sums()))
      },
    })
  }
  const known = lastKnown(lags, [])
  const gauge = (name: string, help: string, measure: (lag: ShardLag) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['shard'],
      registers: [registry],
      async collect() {
        const all = await known.ask()
        this.reset()
        for (const lag of all) this.set({ shard: lag.shard }, measure(lag))
      },
    })
  gauge(
    'tallygate_shard_waiting_records',
    'Records on the stream of a shard that this worker counts.',
    ({ entries }) => entries,
  )
  gauge(
    'tallygate_shard_lag_seconds',
    'How long the oldest of them has waited; 0: none waits.',
    ({ oldestMs }) => oldestMs / 1_000,
  )
  new Gauge({
    name: 'tallygate_worker_well',
    help: '0: what this worker is for is not done, because of a store or of records that wait for too long.',
    registers: [registry],
    async collect() {
      this.set((await problem().catch(() => 'no answer')) === null ? 1 : 0)
    },
  })
  showProgram(registry, version)
  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    figures: () => registry.getMetricsAsJSON(),
  }
}
