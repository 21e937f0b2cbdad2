import { Gauge, type Registry } from 'prom-client'

/** Jobs at one upstream that have not reported their usage. */
export interface WaitingJobs {
  readonly upstream: string
  readonly jobs: number
  /** When the oldest of them was submitted. */
  readonly oldestAt: Date
}

/**
 * Shows what is in no total yet. All processes show the same; while the store does not answer, the last value
 * stands.
 */
export function showJobs(registry: Registry, select: () => Promise<readonly WaitingJobs[]>): void {
  let last: readonly WaitingJobs[] = []
  let asked: Promise<void> | null = null
  /** One query for both gauges of a scrape. */
  const ask = async (): Promise<void> => {
    asked ??= select()
      .then(
        (waiting) => {
          last = waiting
        },
        () => {},
      )
      .finally(() => {
        asked = null
      })
    await asked
  }
  const gauge = (name: string, help: string, measure: (waiting: WaitingJobs) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['upstream'],
      aggregator: 'max',
      registers: [registry],
      async collect() {
        await ask()
        this.reset()
        for (const waiting of last) this.set({ upstream: waiting.upstream }, measure(waiting))
      },
    })
  gauge(
    'tallygate_unsettled_jobs',
    'Batches and other submitted jobs that have not reported their usage.',
    ({ jobs }) => jobs,
  )
  gauge(
    'tallygate_oldest_unsettled_job_seconds',
    'How long ago the oldest of them was submitted.',
    ({ oldestAt }) => Math.max(0, (Date.now() - oldestAt.getTime()) / 1_000),
  )
}

/** Calls on their way to Kafka. */
export interface KafkaBacklog {
  readonly waitingCalls: number
  readonly waitingBytes: number
  /** When the oldest of them was counted; `null`: none waits. */
  readonly oldestAt: Date | null
  readonly sentCalls: number
  /** Calls that were counted while too many waited. */
  readonly skipped: { readonly calls: number } | null
}

type KafkaGauge = readonly [name: string, help: string, measure: (backlog: KafkaBacklog) => number]

const GAUGES: readonly KafkaGauge[] = [
  ['tallygate_kafka_waiting_calls', 'Counted calls that Kafka does not have yet.', (of) => of.waitingCalls],
  [
    'tallygate_kafka_waiting_bytes',
    'What they take in Postgres; at CALLS_KAFKA_OUTBOX_MAX_BYTES further calls are not sent.',
    (of) => of.waitingBytes,
  ],
  [
    'tallygate_kafka_oldest_waiting_seconds',
    'How long ago the oldest of them was counted; 0: none waits.',
    ({ oldestAt }) => (oldestAt === null ? 0 : Math.max(0, (Date.now() - oldestAt.getTime()) / 1_000)),
  ],
  [
    'tallygate_kafka_sent_calls',
    'Calls that Kafka has acknowledged, since the first one.',
    (of) => of.sentCalls,
  ],
  [
    'tallygate_kafka_skipped_calls',
    'Calls of the last 90 days that were counted and not sent, because too many waited.',
    ({ skipped }) => skipped?.calls ?? 0,
  ],
]

/**
 * Shows how far Kafka is behind; nothing where no worker ever sent calls there. All processes show the same; while the
 * store does not answer, the last values stand.
 */
export function showKafka(registry: Registry, find: () => Promise<KafkaBacklog | null>): void {
  let last: KafkaBacklog | null = null
  let asked: Promise<void> | null = null
  /** One query for all gauges of a scrape. */
  const ask = async (): Promise<void> => {
    asked ??= find()
      .then(
        (found) => {
          last = found
        },
        () => {},
      )
      .finally(() => {
        asked = null
      })
    await asked
  }
  for (const [name, help, measure] of GAUGES) {
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        await ask()
        this.reset()
        if (last === null) this.remove()
        else this.set(measure(last))
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
  let last: PriceFreshness | null = null
  async function read(): Promise<PriceFreshness | null> {
    last = await find().catch(() => last)
    return last
  }
  new Gauge({
    name: 'tallygate_prices_refresh_refused',
    help: '1 while newer prices that were fetched last are not taken: the old ones stand until an operator decides.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      this.set((await read())?.last?.outcome === 'refused' ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tallygate_prices_fresh_timestamp_seconds',
    help: 'When prices were last known to be the newest there are, since 1970; 0: never.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      this.set(((await read())?.last?.freshAt?.getTime() ?? 0) / 1000)
    },
  })
  new Gauge({
    name: 'tallygate_prices_age_seconds',
    help: 'How long ago prices were last known to be the newest there are, counted from the data of the release where none were fetched.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const freshAt = (await read())?.freshAt
      if (freshAt !== undefined) this.set(Math.max(0, (Date.now() - freshAt.getTime()) / 1000))
    },
  })
  new Gauge({
    name: 'tallygate_prices_held_models',
    help: 'Models whose newer price is doubted: the old one stands until an operator accepts it.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      this.set((await read())?.held ?? 0)
    },
  })
}
