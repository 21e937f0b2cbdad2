import { Gauge, type Registry } from 'prom-client'
import type { StateGauge } from '../domain/conditions/condition.ts'
import type { ProcessState } from '../domain/conditions/process-state.ts'
import type { KeyDirectoryStats } from '../keys/key-directory.ts'
import type { LedgerStats } from '../ledger/ledger.ts'

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

/** Shows the state of the key directory. */
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
