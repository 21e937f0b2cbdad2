import { Counter, Gauge, type Registry } from 'prom-client'
import { type LastKnown, lastKnown, showKnown, showKnownFigure } from './last-known.ts'

/** Jobs at one upstream that have not reported their usage. */
export interface WaitingJobs {
  readonly upstream: string
  readonly jobs: number
  /** When the oldest of them was submitted. */
  readonly oldestAt: Date
}

/** A gauge with a value for each of several things, which labels name. */
type LabelledFigure<One> = readonly [name: string, help: string, measure: (one: One) => number]

/** All processes show the same; while the store does not answer, the last values stand. */
function showEach<One>(
  registry: Registry,
  labels: Readonly<Record<string, (one: One) => string>>,
  select: () => Promise<readonly One[]>,
  figures: readonly LabelledFigure<One>[],
): void {
  const all: LastKnown<readonly One[]> = lastKnown(select, [])
  for (const [name, help, measure] of figures)
    showKnown(registry, all, { name, help, labelNames: Object.keys(labels) }, (gauge, known) => {
      for (const one of known) {
        const named = Object.entries(labels).map(([label, labelOf]) => [label, labelOf(one)] as const)
        gauge.set(Object.fromEntries(named), measure(one))
      }
    })
}

const secondsSince = (at: Date | null) => (at === null ? 0 : Math.max(0, (Date.now() - at.getTime()) / 1_000))

/** Shows what is in no total yet. */
export function showJobs(registry: Registry, select: () => Promise<readonly WaitingJobs[]>): void {
  showEach(registry, { upstream: ({ upstream }) => upstream }, select, [
    [
      'tallygate_unsettled_jobs',
      'Batches and other submitted jobs that have not reported their usage.',
      ({ jobs }) => jobs,
    ],
    [
      'tallygate_oldest_unsettled_job_seconds',
      'How long ago the oldest of them was submitted.',
      ({ oldestAt }) => secondsSince(oldestAt),
    ],
  ])
}

/** Events on their way to a billing system. */
export interface BillingBacklog {
  readonly receiver: string
  readonly waitingEvents: number
  readonly oldestAt: Date | null
  readonly refusedEvents: number
  readonly doubtfulEvents: number
}

/** Shows how far billing systems are behind; nothing where there are none. */
export function showBilling(registry: Registry, select: () => Promise<readonly BillingBacklog[]>): void {
  showEach(registry, { receiver: ({ receiver }) => receiver }, select, [
    [
      'tallygate_billing_waiting_events',
      'Changes of sums that a billing system does not have yet.',
      (of) => of.waitingEvents,
    ],
    [
      'tallygate_billing_oldest_waiting_seconds',
      'How long ago the oldest of them was made; 0: none waits.',
      ({ oldestAt }) => secondsSince(oldestAt),
    ],
    [
      'tallygate_billing_set_apart_events',
      'Events that it refused, or that may have arrived: an operator decides.',
      (of) => of.refusedEvents + of.doubtfulEvents,
    ],
  ])
}

/** An invoice of a provider, and how far it differs from what was counted. In US dollars. */
export interface InvoiceFigures {
  readonly provider: string
  readonly month: string
  readonly invoiceUsd: number
  readonly differenceUsd: number
  readonly unexplainedUsd: number
}

/** Shows invoices of the last months; nothing where none was imported. */
export function showInvoices(registry: Registry, select: () => Promise<readonly InvoiceFigures[]>): void {
  showEach(registry, { provider: ({ provider }) => provider, month: ({ month }) => month }, select, [
    ['tallygate_invoice_usd', 'What an invoice of a provider says of a month.', (of) => of.invoiceUsd],
    ['tallygate_invoice_difference_usd', 'The invoice less what was counted.', (of) => of.differenceUsd],
    [
      'tallygate_invoice_unexplained_usd',
      'The part of the difference that nothing explains, without signs.',
      (of) => of.unexplainedUsd,
    ],
  ])
}

/** What a limit that is tried would have refused today. */
interface TriedLimitFigures {
  /** Its id. */
  readonly limit: string
  readonly calls: number
  readonly refused: number
}

export type SelectTriedLimits = () => Promise<readonly TriedLimitFigures[]>

/** Shows limits that are tried; nothing where there are none. */
export function showTriedLimits(registry: Registry, select: SelectTriedLimits): void {
  showEach(registry, { limit: ({ limit }) => limit }, select, [
    ['tallygate_tried_limit_calls', 'Calls of this UTC day that a tried limit is about.', (of) => of.calls],
    ['tallygate_tried_limit_refused_calls', 'Those that it would have refused.', (of) => of.refused],
  ])
}

/** Calls on their way to Kafka. */
export interface KafkaBacklog {
  readonly waitingCalls: number
  readonly waitingBytes: number
  /** When the oldest of them was counted; `null`: none waits. */
  readonly oldestAt: Date | null
  readonly sentCalls: number
  /** Calls that were counted while too many waited, since the first one. */
  readonly allSkipped: number
}

type KafkaFigure = readonly [name: string, help: string, measure: (backlog: KafkaBacklog) => number]

const KAFKA_GAUGES: readonly KafkaFigure[] = [
  ['tallygate_kafka_waiting_calls', 'Counted calls that Kafka does not have yet.', (of) => of.waitingCalls],
  [
    'tallygate_kafka_waiting_bytes',
    'What they take in Postgres; at CALLS_KAFKA_OUTBOX_MAX_BYTES further calls are not sent.',
    (of) => of.waitingBytes,
  ],
  [
    'tallygate_kafka_oldest_waiting_seconds',
    'How long ago the oldest of them was counted; 0: none waits.',
    ({ oldestAt }) => secondsSince(oldestAt),
  ],
]

const KAFKA_COUNTERS: readonly KafkaFigure[] = [
  [
    'tallygate_kafka_sent_calls_total',
    'Calls that Kafka has acknowledged, since the first one.',
    (of) => of.sentCalls,
  ],
  [
    'tallygate_kafka_skipped_calls_total',
    'Calls that were counted and not sent, because too many waited, since the first one.',
    (of) => of.allSkipped,
  ],
]

/**
 * Shows how far Kafka is behind; nothing where no worker ever sent calls there. All processes show the same; while the
 * store does not answer, the last values stand.
 */
export function showKafka(registry: Registry, find: () => Promise<KafkaBacklog | null>): void {
  const backlog: LastKnown<KafkaBacklog | null> = lastKnown(find, null)
  for (const figure of KAFKA_GAUGES) showKnownFigure(registry, backlog, figure)
  for (const [name, help, measure] of KAFKA_COUNTERS) {
    new Counter({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        const known = await backlog.ask()
        this.reset()
        if (known === null) this.remove()
        else this.inc(measure(known))
      },
    })
  }
}

/** How the last attempt to fetch newer prices went. */
export interface PriceFreshness {
  /** `null`: none was made. */
  readonly last: { readonly outcome: string; readonly freshAt: Date | null } | null
  /** When prices were last confirmed to be the newest; else the day of the release's data. */
  readonly freshAt: Date
  /** Models whose newer price waits for a person. */
  readonly held: number
}

/**
 * Shows the state of the price refresh; nothing where it was never tried. All processes show the same, so one
 * is enough. While the store does not answer, the last value stands.
 */
export function showPrices(registry: Registry, find: () => Promise<PriceFreshness | null>): void {
  const freshness: LastKnown<PriceFreshness | null> = lastKnown(find, null)
  const gauge = (name: string, help: string, measure: (known: PriceFreshness | null) => number | null) =>
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        const value = measure(await freshness.ask())
        if (value !== null) this.set(value)
      },
    })
  gauge(
    'tallygate_prices_refresh_refused',
    '1 while newer prices that were fetched last are not taken: the old ones stand until an operator decides.',
    (known) => (known?.last?.outcome === 'refused' ? 1 : 0),
  )
  gauge(
    'tallygate_prices_fresh_timestamp_seconds',
    'When prices were last known to be the newest there are, since 1970; 0: never.',
    (known) => (known?.last?.freshAt?.getTime() ?? 0) / 1000,
  )
  gauge(
    'tallygate_prices_age_seconds',
    "How long ago prices were last known to be the newest, or the age of the release's data if none were fetched.",
    (known) => (known === null ? null : Math.max(0, (Date.now() - known.freshAt.getTime()) / 1000)),
  )
  gauge(
    'tallygate_prices_held_models',
    'Models whose newer price is doubted: the old one stands until an operator accepts it.',
    (known) => known?.held ?? 0,
  )
}
