import { Counter, Gauge, type Registry } from 'prom-client'
import type { StateGauge } from '../domain/conditions/condition.ts'
import type { ProcessState } from '../domain/conditions/process-state.ts'
import type { KeyDirectoryStats } from '../keys/key-directory.ts'
import type { LedgerStats } from '../ledger/ledger.ts'
import { type LastKnown, lastKnown } from './last-known.ts'

type LedgerGauge = readonly [name: string, help: string, read: (stats: LedgerStats) => number]

const LEDGER_GAUGES: readonly LedgerGauge[] = [
  ['tallygate_open_calls', 'Calls under way.', ({ openCalls }) => openCalls],
  [
    'tallygate_ledger_uncommitted_records',
    'Records in the journals that are not in Postgres yet.',
    ({ uncommittedRecords }) => uncommittedRecords,
  ],
  [
    'tallygate_ledger_uncommitted_bytes',
    'Size of those records; at JOURNAL_MAX_BYTES no new call is taken.',
    ({ uncommittedBytes }) => uncommittedBytes,
  ],
  ['tallygate_ledger_last_sequence', 'Last record in the journal of this process.', ({ last }) => last],
  ['tallygate_ledger_synced_sequence', 'Last record that survives a power loss.', ({ synced }) => synced],
  ['tallygate_ledger_sent_sequence', 'Last record that is on the stream.', ({ sent }) => sent],
  [
    'tallygate_ledger_mark',
    'Last record that is in Postgres, with all before it.',
    ({ committedOffset }) => committedOffset,
  ],
  [
    'tallygate_ledger_adopted_producers',
    'Producers that are gone whose journals this process owns.',
    ({ adopted }) => adopted,
  ],
  [
    'tallygate_ledger_corrupt_journals',
    'Journals that could not be read completely and were quarantined.',
    ({ corrupt }) => corrupt,
  ],
]

/** Shows where the ledger stands. */
export function showLedger(registry: Registry, stats: () => LedgerStats): void {
  for (const [name, help, read] of LEDGER_GAUGES) gauge(registry, name, help, () => read(stats()))
}

export function showKeys(registry: Registry, stats: () => KeyDirectoryStats): void {
  gauge(registry, 'tallygate_keys', 'API keys known to this process.', () => stats().keys)
  gauge(
    registry,
    'tallygate_keys_stale_seconds',
    'Since the last successful poll of the keys; NaN when there was none.',
    () => (stats().staleMs ?? Number.NaN) / 1_000,
  )
}

/** Shows what conditions say of this process. */
export function showStates(
  registry: Registry,
  gauges: readonly StateGauge[],
  state: () => ProcessState,
): void {
  for (const { name, help, aggregator, read } of gauges)
    gauge(registry, name, help, () => read(state()), aggregator)
}

type Aggregator = 'max' | 'min' | 'first' | 'sum' | 'omit'

/** How gauges of several processes are combined; the other metrics add up. */
const AGGREGATORS: Readonly<Record<string, Aggregator>> = {
  tallygate_ledger_last_sequence: 'omit',
  tallygate_ledger_synced_sequence: 'omit',
  tallygate_ledger_sent_sequence: 'omit',
  tallygate_ledger_mark: 'omit',
  tallygate_ledger_corrupt_journals: 'first',
  tallygate_keys: 'max',
  tallygate_keys_stale_seconds: 'max',
}

function gauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number,
  aggregator: Aggregator = AGGREGATORS[name] ?? 'sum',
): void {
  new Gauge({
    name,
    help,
    aggregator,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}

/** Calls of one upstream that created responses under ids that existed already. */
export interface CollisionCount {
  readonly upstream: string
  readonly calls: bigint
}

/**
 * Shows what the workers have counted. All processes show the same, so one is enough. While the store does
 * not answer, the last value stands.
 */
export function showCollisions(registry: Registry, select: () => Promise<readonly CollisionCount[]>): void {
  const collisions: LastKnown<readonly CollisionCount[]> = lastKnown(select, [])
  new Counter({
    name: 'tallygate_response_id_collisions_total',
    help: 'Calls that made a response under an id that was there: all are counted, and fetches may be mistaken.',
    labelNames: ['upstream'],
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const known = await collisions.ask()
      this.reset()
      for (const { upstream, calls } of known) this.inc({ upstream }, Number(calls))
    },
  })
}

/** Shows the upstreams that calls by routes go around, as this process finds it. */
export function showCircuits(registry: Registry, open: () => ReadonlyMap<string, unknown>): void {
  new Gauge({
    name: 'tallygate_upstream_circuit_open',
    help: '1: calls by routes ask other upstreams first, as this one does not serve. Absent otherwise.',
    labelNames: ['upstream'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      for (const upstream of open().keys()) this.set({ upstream }, 1)
    },
  })
}

/** A replica for reports, as far as metrics show it. */
export interface ShownReplica {
  readonly isUsed: boolean
  /** `null`: not known. */
  readonly lagMs: number | null
}

/** Shows whether reports come from the replica and how old they are; nothing where there is none. */
export function showReplica(registry: Registry, find: () => ShownReplica | null): void {
  const gauge = (name: string, help: string, measure: (replica: ShownReplica) => number | null) =>
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      collect() {
        const replica = find()
        const value = replica === null ? null : measure(replica)
        this.reset()
        if (value === null) this.remove()
        else this.set(value)
      },
    })
  gauge(
    'tallygate_replica_unused',
    '1 while reports come from the primary, because the replica is away or too far behind.',
    ({ isUsed }) => (isUsed ? 0 : 1),
  )
  gauge('tallygate_replica_lag_seconds', 'How old what the replica answers is at most.', ({ lagMs }) =>
    lagMs === null ? null : lagMs / 1_000,
  )
}

/** How limits are shared with the other gateways, as of now. */
interface LimitSharing {
  readonly exchanges: number
  readonly exchangeFailures: number
  readonly waiting: number
  readonly isDegraded: boolean
}

/** The figures that limits give of themselves. Both are asked at every scrape. */
export interface LimitFigures {
  readonly stats: () => LimitSharing
  /** Refused calls by reason, since the start. */
  readonly refusals: () => ReadonlyMap<string, number>
}

/** Shows refused calls and the sharing of limits. No label names a client: who was refused is in Postgres. */
export function showLimitMetrics(registry: Registry, { stats: sharing, refusals }: LimitFigures): void {
  new Counter({
    name: 'tallygate_refused_calls_total',
    help: 'Calls of known clients that were refused before they went upstream, by reason. No total has them.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [reason, count] of refusals()) this.inc({ reason }, count)
    },
  })
  const counter = (name: string, help: string, of: (now: LimitSharing) => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(of(sharing()))
      },
    })
  counter(
    'tallygate_limit_exchanges_total',
    'Times that this process and the others exchanged over Redis what clients use.',
    ({ exchanges }) => exchanges,
  )
  counter(
    'tallygate_limit_exchange_failures_total',
    'Those of them that Redis did not answer in time.',
    ({ exchangeFailures }) => exchangeFailures,
  )
  const gauge = (name: string, help: string, of: (now: LimitSharing) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(of(sharing()))
      },
    })
  gauge(
    'tallygate_limit_waiting_calls',
    'Calls that wait for running calls or for other gateways.',
    ({ waiting }) => waiting,
  )
  gauge(
    'tallygate_limit_degraded',
    '1: Redis is away, so this process goes on with its share of each limit.',
    ({ isDegraded }) => (isDegraded ? 1 : 0),
  )
}
