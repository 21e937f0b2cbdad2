import { Gauge, type Registry } from 'prom-client'

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
