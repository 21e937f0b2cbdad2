import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { CallObserver } from '../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../call/call-record.ts'
import type { StateGauge } from '../domain/conditions/condition.ts'
import type { ProcessState } from '../domain/conditions/process-state.ts'
import type { KeyDirectoryStats } from '../keys/key-directory.ts'
import type { LedgerStats } from '../ledger/ledger.ts'
import { CallCounts } from './call-counts.ts'
import { showCalls } from './call-metrics.ts'
import { ClientCounts, showClients } from './client-counts.ts'
import type { ProcessMetrics } from './figures.ts'
import type { OwnTimeCounts } from './latency-counts.ts'
import { addOne } from './model-counts.ts'
import { CONTENT_TYPES, sharedRender } from './shared-metrics.ts'
import {
  type CollisionCount,
  type LimitFigures,
  type ShownReplica,
  showCircuits,
  showCollisions,
  showKeys,
  showLedger,
  showLimitMetrics,
  showReplica,
  showStates,
} from './state-metrics.ts'
import {
  type BudgetUse,
  type LossFigures,
  type ProcessFigures,
  showBudgets,
  showLosses,
  showProcesses,
} from './store-metrics.ts'
import {
  type BillingBacklog,
  type InvoiceFigures,
  type KafkaBacklog,
  type PriceFreshness,
  type SelectTriedLimits,
  showBilling,
  showInvoices,
  showJobs,
  showKafka,
  showPrices,
  showTriedLimits,
  type WaitingJobs,
} from './worker-metrics.ts'

export interface GatewayMetricsOptions {
  /** Tells whether the configuration lists a model or there is a price for it: only then may it be a label. */
  readonly knowsModel: (call: OpenCall, model: string) => boolean
  readonly ledger: () => LedgerStats
  readonly keys: () => KeyDirectoryStats
  /** Called at every scrape, so it must be fast. */
  readonly collisions: () => Promise<readonly CollisionCount[]>
  /** The same. */
  readonly prices: () => Promise<PriceFreshness | null>
  /** Called at every scrape, too. */
  readonly jobs: () => Promise<readonly WaitingJobs[]>
  readonly billing: () => Promise<readonly BillingBacklog[]>
  readonly invoices: () => Promise<readonly InvoiceFigures[]>
  readonly triedLimits: SelectTriedLimits
  /** The replica for reports; `null`: none. */
  readonly replica: () => ShownReplica | null
  /** Called at every scrape, too; `null`: Kafka is not in use. */
  readonly kafka: () => Promise<KafkaBacklog | null>
  /** Losses, processes, and how much of budgets is spent. Asked at scrapes, and not at every one. */
  readonly losses: () => Promise<LossFigures>
  readonly processes: () => Promise<readonly ProcessFigures[]>
  readonly budgets: () => Promise<readonly BudgetUse[]>
  /** Clients that metrics name; `null`: none. */
  readonly clients: NamedClients | null
  /** Rates and budgets of this process. */
  readonly limits: LimitFigures
  /** Upstreams whose circuits are open. */
  readonly circuits: () => ReadonlyMap<string, unknown>
  /** The figures of this process that conditions show. */
  readonly gauges: readonly StateGauge[]
  readonly state: () => ProcessState
  /** Version of this release. */
  readonly version: string
  /** Calls have traces that are sent, so latencies point to them. */
  readonly isTraced: boolean
}

/** METRICS_CLIENTS, above 0, and the names of clients by their ids. */
interface NamedClients {
  readonly most: number
  readonly selectNames: (clientIds: readonly string[]) => Promise<ReadonlyMap<string, string>>
}

/** The metrics of this process. */
export interface Metrics {
  /** Receives every call. */
  readonly observer: CallObserver
  /** Takes what each call took in the gateway itself. */
  readonly ownTime: Pick<OwnTimeCounts, 'add'>
  /** A request was refused, and its client is not known. `reason` is a word of ours. */
  refusedRequest(reason: string): void
  /** The trace of a call that `observer` received is sent. */
  callTraced(record: CallRecord): void
  readonly contentType: string
  /** In Prometheus's text format, of all processes together; `null`: one of them does not answer. */
  render(): Promise<string | null>
  /** The same as OpenMetrics, where latencies point to the traces of calls; `null`: none is sent. */
  readonly traced: MetricsPage | null
  /** Those of this process alone. */
  figures(): Promise<ProcessMetrics>
}

/** Figures as a scrape gets them. */
interface MetricsPage {
  readonly contentType: string
  render(): Promise<string | null>
}

/**
 * Metrics of one process, in a registry of their own. Labels are names from the configuration and models that
 * are listed or priced; never a key or other text from outside, and a client only where `clients` says so.
 */
export function buildMetrics({
  knowsModel,
  ledger,
  keys,
  collisions,
  prices,
  jobs,
  billing,
  invoices,
  triedLimits,
  replica,
  kafka,
  losses,
  processes,
  budgets,
  clients,
  limits,
  circuits,
  gauges,
  state,
  version,
  isTraced,
}: GatewayMetricsOptions): Metrics {
  const registry = new Registry()
  const clientCounts = clients === null ? null : new ClientCounts(clients.most)
  const counts = new CallCounts(knowsModel, clientCounts)
  showCalls(registry, counts)
  showLedger(registry, ledger)
  showKeys(registry, keys)
  showCollisions(registry, collisions)
  showPrices(registry, prices)
  showJobs(registry, jobs)
  showBilling(registry, billing)
  showInvoices(registry, invoices)
  showTriedLimits(registry, triedLimits)
  showReplica(registry, replica)
  showKafka(registry, kafka)
  showLosses(registry, losses)
  showProcesses(registry, processes)
  showBudgets(registry, budgets)
  if (clients !== null && clientCounts !== null) showClients(registry, clientCounts, clients.selectNames)
  showLimitMetrics(registry, limits)
  showCircuits(registry, circuits)
  showStates(registry, gauges, state)
  showProgram(registry, version)
  const render = sharedRender(registry)
  return {
    observer: counts,
    ownTime: counts.ownTime,
    refusedRequest: (reason) => addOne(counts.refusedRequests, reason),
    callTraced: (record) => counts.callTraced(record),
    contentType: CONTENT_TYPES.prometheus,
    render: () => render('prometheus'),
    traced: isTraced ? { contentType: CONTENT_TYPES.openmetrics, render: () => render('openmetrics') } : null,
    figures: () => registry.getMetricsAsJSON(),
  }
}

/** Shows what runs, and Node's own metrics. */
export function showProgram(registry: Registry, version: string): void {
  new Gauge({
    name: 'tallygate_build_info',
    help: 'Always 1; the labels say what runs.',
    aggregator: 'first',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.version }, 1)
  collectDefaultMetrics({ register: registry })
}
