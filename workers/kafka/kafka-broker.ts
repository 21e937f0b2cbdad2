import { findPackageJSON } from 'node:module'
import { isIP } from 'node:net'
import { ConfigError, type KafkaConfig } from '../../src/config/config.ts'
import { settledWithin, withinDeadline } from '../../src/lib/deadline.ts'
import type { KeyedEvent } from '../../src/usage/outbox/outbox-table.ts'
import type { EventBroker } from './call-sender.ts'

/** Of the CloudEvents binding for Kafka: the whole event is the value. */
const HEADERS = { 'content-type': 'application/cloudevents+json; charset=UTF-8' }

const CONNECT_MS = 5_000
/** How long brokers may take to have a batch on all of their replicas. */
const ANSWER_MS = 20_000
/** The client gives up before this time; it is here in case that it does not. */
const SEND_MS = 60_000
const CLOSE_MS = 2_000
/** Partitions and their leaders are asked for again after this time. */
const METADATA_AGE_MS = 60_000

const CLIENT = '@platformatic/kafka'

/**
 * The client is an optional package: only who sends calls to Kafka needs it.
 *
 * @param find Throws where a package is not installed.
 * @throws {ConfigError} Where it is not.
 */
export function checkKafkaClient(
  find: (name: string) => unknown = (name) => findPackageJSON(name, import.meta.url),
): void {
  try {
    find(CLIENT)
  } catch {
    throw new ConfigError([
      `CALLS_KAFKA_BROKERS needs a package that is not installed: npm install ${CLIENT}`,
    ])
  }
}

/**
 * Kafka. The client is loaded here and not before, as it takes 460 to 620 ms of CPU and 57 to 60 MB of memory (measured
 * around the import on a busy machine), which only the worker that sends should pay.
 *
 * A failed send is not repeated in here: after it the caller closes this one and opens another, so that nothing of a
 * broken state stays.
 */
export async function openKafka({ brokers, topic, tls, sasl }: KafkaConfig): Promise<EventBroker> {
  const { Producer, ProduceAcks, compatibilityPartitioner, stringSerializers } = await import(
    '@platformatic/kafka'
  )
  const producer = new Producer({
    clientId: 'tallygate',
    bootstrapBrokers: brokers.map(({ host, port }) => ({ host, port })),
    serializers: stringSerializers,
    acks: ProduceAcks.ALL,
    // An event that arrives twice is known by its id, and this needs no right of its own at the cluster.
    idempotent: false,
    // Where Java's client would put the key, so that others find it there.
    partitioner: compatibilityPartitioner,
    compression: 'zstd',
    autocreateTopics: false,
    maxInflights: 1,
    retries: 0,
    connectTimeout: CONNECT_MS,
    requestTimeout: ANSWER_MS,
    timeout: ANSWER_MS,
    metadataMaxAge: METADATA_AGE_MS,
    ...(tls === null
      ? {}
      : { tls: withoutNulls(tls), tlsServerName: brokers.some(({ host }) => isIP(host) === 0) }),
    ...(sasl === null ? {} : { sasl: { ...sasl } }),
  })

  const sendAll = (events: readonly KeyedEvent[]) =>
    withinDeadline(
      producer.send({
        acks: ProduceAcks.ALL,
        messages: events.map(({ key, event }) => ({ topic, key, value: event, headers: HEADERS })),
      }),
      SEND_MS,
      `the brokers did not answer in ${SEND_MS} ms`,
    )

  /** A topic may take smaller batches than these. */
  async function sendInHalves(events: readonly KeyedEvent[]): Promise<void> {
    try {
      await sendAll(events)
    } catch (error) {
      if (events.length < 2 || !isTooLarge(error)) throw error
      const half = events.length >>> 1
      await sendInHalves(events.slice(0, half))
      await sendInHalves(events.slice(half))
    }
  }

  return {
    async check() {
      await withinDeadline(producer.metadata({ topics: [topic], forceUpdate: true }), SEND_MS)
    },
    send: (events) => sendInHalves(events),
    close: () => settledWithin(producer.close(true), CLOSE_MS),
  }
}

function withoutNulls(tls: NonNullable<KafkaConfig['tls']>) {
  return Object.fromEntries(Object.entries(tls).filter(([, text]) => text !== null))
}

const TOO_LARGE: readonly unknown[] = ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']

/** The client nests what the brokers answered for each partition. */
function isTooLarge(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('apiId' in error && TOO_LARGE.includes(error.apiId)) return true
  const inner = error instanceof AggregateError ? error.errors : []
  return [...inner, error.cause].some((one) => isTooLarge(one))
}

/** What went wrong, in one line: the brokers' own codes where they answered, else the innermost of the client's errors. */
export function kafkaProblemOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(kafkaProblemOf))].slice(0, 3).join('; ')
  }
  if (!(error instanceof Error)) return String(error)
  if ('apiId' in error && typeof error.apiId === 'string') return error.apiId
  const cause = error.cause instanceof Error ? `: ${kafkaProblemOf(error.cause)}` : ''
  return `${error.message.replace(/\s+/g, ' ').trim()}${cause}`
}
