import type { Registry } from 'prom-client'
import { type LastKnown, lastKnown, showKnown, showKnownFigure } from './last-known.ts'

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
  showKnownFigure(registry, losses, [
    'tallygate_gaps',
    'Ranges of records that are missing and have not come since: `tallygate ledger gaps`.',
    ({ gaps }) => gaps,
  ])
  showKnownFigure(registry, losses, [
    'tallygate_missing_records',
    'Records in all of them together.',
    (of) => of.missingRecords,
  ])
  showKnownFigure(registry, losses, [
    'tallygate_dead_letters',
    'Records that could not be counted and have not been since: `tallygate dead-letters list`.',
    (of) => of.deadLetters,
  ])
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
  const counted = {
    name: 'tallygate_processes',
    help: 'Processes that were heard of within a day: `running`, or `silent` for over 15 s and neither stopped nor replaced.',
    labelNames: ['kind' as const, 'state' as const],
  }
  showKnown(registry, processes, counted, (gauge, all) => {
    for (const { kind, living, silent } of all) {
      gauge.set({ kind, state: 'running' }, living)
      gauge.set({ kind, state: 'silent' }, silent)
    }
  })
  const aged = {
    name: 'tallygate_heartbeat_age_seconds',
    help: 'How long ago the process was last heard of that has been silent for longest; each says something every 5 s.',
    labelNames: ['kind' as const],
  }
  showKnown(registry, processes, aged, (gauge, all) => {
    for (const { kind, longestSilentMs } of all)
      if (longestSilentMs !== null) gauge.set({ kind }, longestSilentMs / 1_000)
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
  const used = {
    name: 'tallygate_budget_used_ratio',
    help: 'How much is spent of the ten budgets of which most is, 1: all. `client` is empty for groups, and where METRICS_CLIENTS is 0.',
    labelNames: ['limit' as const, 'per' as const, 'client' as const],
  }
  showKnown(registry, lastKnown(select, [], BUDGETS_EACH_MS), used, (gauge, all) => {
    for (const one of all) gauge.set({ limit: one.limit, per: one.per, client: one.client ?? '' }, one.used)
  })
}
