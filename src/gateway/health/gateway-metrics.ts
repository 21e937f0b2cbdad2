import type { GatewayConfig } from '../../config/config.ts'
import { selectInvoiceFigures } from '../../corrections/invoices/match/invoice-figures.ts'
import { CONDITIONS } from '../../doctor/conditions.ts'
import type { ProcessState } from '../../domain/conditions/process-state.ts'
import { selectClientNames } from '../../keys/clients.ts'
import type { KeyDirectory } from '../../keys/key-directory.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import { VERSION } from '../../lib/version.ts'
import { selectBudgetUse } from '../../limits/conditions/budget-use.ts'
import { selectTriedFigures } from '../../limits/conditions/tried-limits.ts'
import { buildMetrics, type GatewayMetricsOptions, type Metrics } from '../../metrics/metrics.ts'
import { selectWaitingJobs } from '../../objects/table/jobs-table.ts'
import { readPriceState } from '../../pricing/refresh/price-state.ts'
import { selectBillingStates } from '../../statements/billing/billing-state.ts'
import { countProcesses } from '../../store/conditions/processes.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { countLosses } from '../../store/ledger/ledger-status.ts'
import { selectCollisions } from '../../usage/calls/response-collisions.ts'
import { selectOutboxState } from '../../usage/outbox/outbox-state.ts'

/** A scrape of metrics waits this long for Postgres. */
const SCRAPE_MS = 1_000

export interface GatewayMetricsPorts {
  readonly config: GatewayConfig
  readonly knowsModel: GatewayMetricsOptions['knowsModel']
  readonly ledger: Pick<Ledger, 'stats'>
  readonly keys: Pick<KeyDirectory, 'stats'>
  /** For reports: a scrape must not delay calls. */
  readonly pool: Postgres
  readonly replica: GatewayMetricsOptions['replica']
  readonly limits: GatewayMetricsOptions['limits']
  readonly circuits: GatewayMetricsOptions['circuits']
  readonly state: () => ProcessState
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** The metrics of a gateway process, connected to what they show. */
export function buildGatewayMetrics(parts: GatewayMetricsPorts): Metrics {
  const { config, ledger, keys, pool, now } = parts
  const { metricsClients } = config
  const asked = <Found>(select: (pool: Postgres) => Promise<Found>) => withinDeadline(select(pool), SCRAPE_MS)
  return buildMetrics({
    knowsModel: parts.knowsModel,
    ledger: () => ledger.stats(),
    keys: () => keys.stats(),
    collisions: () => asked((from) => selectCollisions(from, null)),
    jobs: () => asked(selectWaitingJobs),
    billing: () => asked(selectBillingStates),
    invoices: () => asked((from) => selectInvoiceFigures(from, now())),
    triedLimits: () => asked((from) => selectTriedFigures(from, now())),
    kafka: () => asked(selectOutboxState),
    prices: () => asked((from) => readPriceState(from, 'genai-prices')),
    losses: () => asked(countLosses),
    processes: () => asked(countProcesses),
    budgets: () => asked((from) => selectBudgetUse(from, now(), metricsClients > 0)),
    clients:
      metricsClients === 0
        ? null
        : { most: metricsClients, selectNames: (ids) => asked((from) => selectClientNames(from, ids)) },
    replica: parts.replica,
    limits: parts.limits,
    circuits: parts.circuits,
    gauges: CONDITIONS.flatMap(({ gauges }) => gauges ?? []),
    state: parts.state,
    version: VERSION,
    isTraced: config.tracing !== null,
  })
}
