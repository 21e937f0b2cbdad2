import { Gauge, type Registry } from 'prom-client'
import { type LastKnown, lastKnown } from './last-known.ts'

/** Every process shows these, and each would ask Postgres at every scrape of every Prometheus. */
const ASKED_EACH_MS = 10_000
/** Sums of all budgets cost Postgres the most, and move slowly. */
const BUDGETS_EACH_MS = 60_000

/** Records that could not be counted, and have not been since. */
export interface LossFigures {
  readonly gaps: number
  readonly missingRecords: number
  readonly deadLetters: number
}

/** Shows losses, as Postgres has them; nothing until it has answered once. */
export function showLosses(registry: Registry, find: () => Promise<LossFigures>): void {
  const losses: LastKnown<LossFigures | null> = lastKnown(find, null, ASKED_EACH_MS)
  const gauge = (name: string, help: string, measure: (losses: LossFigures) => number) =>
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        const known = await losses.ask()
        this.reset()
        if (known === null) this.remove()
        else this.set(measure(known))
      },
    })
  gauge(
    'tallygate_gaps',
    'Ranges of records that are missing and have not come since: `tallygate ledger gaps`.',
    ({ gaps }) => gaps,
  )
  gauge('tallygate_missing_records', 'Records in all of them together.', (of) => of.missingRecords)
  gauge(
    'tallygate_dead_letters',
    'Records that could not be counted and have not been since: `tallygate dead-letters list`.',
    ({ deadLetters }) => deadLetters,
  )
}

/** Gateways or workers, as they said of themselves. */
export interface ProcessFigures {
  readonly kind: string
  readonly living: number
  readonly silent: number
  /** Of the one that was not heard of for longest, among those that are not replaced; `null`: there is none. */
  readonly longestSilentMs: number | null
}

/** Shows who runs. A silent process is shown for a day. */
export function showProcesses(registry: Registry, select: () => Promise<readonly ProcessFigures[]>): void {
  const processes: LastKnown<readonly ProcessFigures[]> = lastKnown(select, [], ASKED_EACH_MS)
  new Gauge({
    name: 'tallygate_processes',
    help: 'Processes that were heard of within a day: `running`, or `silent` for over 15 s and neither stopped nor replaced.',
    labelNames: ['kind', 'state'],
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const all = await processes.ask()
      this.reset()
      for (const { kind, living, silent } of all) {
        this.set({ kind, state: 'running' }, living)
        this.set({ kind, state: 'silent' }, silent)
      }
    },
  })
  new Gauge({
    name: 'tallygate_heartbeat_age_seconds',
    help: 'How long ago the process was last heard of that has been silent for longest; each says something every 5 s.',
    labelNames: ['kind'],
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const all = await processes.ask()
      this.reset()
      for (const { kind, longestSilentMs } of all)
        if (longestSilentMs !== null) this.set({ kind }, longestSilentMs / 1_000)
    },
  })
}

/** How much of a budget is spent. */
export interface BudgetUse {
  /** The id of the limit. */
  readonly limit: string
  readonly per: string
  /** `null`: metrics name no clients, so it is the client that has spent most of it. */
  readonly client: string | null
  /** 1: all of it. */
  readonly used: number
}

/** Shows the budgets of which most is spent. */
export function showBudgets(registry: Registry, select: () => Promise<readonly BudgetUse[]>): void {
  const budgets: LastKnown<readonly BudgetUse[]> = lastKnown(select, [], BUDGETS_EACH_MS)
  new Gauge({
    name: 'tallygate_budget_used_ratio',
    help: 'How much is spent of the ten budgets of which most is, 1: all. `client` is empty for groups, and where METRICS_CLIENTS is 0.',
    labelNames: ['limit', 'per', 'client'],
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const all = await budgets.ask()
      this.reset()
      for (const { limit, per, client, used } of all) this.set({ limit, per, client: client ?? '' }, used)
    },
  })
}
