import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { settledWithin } from '../../src/lib/deadline.ts'
import type { Logger } from '../../src/lib/logger.ts'
import { atMostEvery } from '../../src/lib/repeat.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import {
  clearOutboxProblem,
  holdOutbox,
  leaveOutbox,
  measureOutbox,
  pruneSkipped,
} from '../../src/usage/outbox/outbox-state.ts'
import {
  deletePages,
  type KeyedEvent,
  selectPages,
  truncateOutbox,
  unpackPage,
} from '../../src/usage/outbox/outbox-table.ts'

export interface CallSenderOptions {
  readonly pool: Postgres
  readonly openBroker: OpenEventBroker
  /** One line on why a send failed. */
  readonly problemOf: (error: unknown) => string
  readonly log: Logger
  readonly times?: Partial<CallSenderTimes>
}

/** In milliseconds. */
interface CallSenderTimes {
  /** Pause where nothing waits. */
  readonly idle: number
  /** Between two tries of a worker to become the one that sends, and of that one to stay it. */
  readonly lease: number
  /** First pause after a failure; each further one is twice as long, up to `longestPause`. */
  readonly pause: number
  readonly longestPause: number
}

/** The worker's part in sending calls to Kafka. */
export interface CallSender {
  /** Ends after the batch under way, if the brokers answer soon, and lets another worker go on at once. */
  close(): Promise<void>
}

const TIMES: CallSenderTimes = { idle: 500, lease: 4_000, pause: 500, longestPause: 10_000 }
/** What a killed worker sends again at most. */
const BATCH_EVENTS = 2_000
/** A run through the outbox begins again at its first page after so long: a page may have appeared before. */
const RUN_MS = 5_000
/** Counting what waits takes at most one part in so many of the time. */
const MEASURE_SHARE = 50
const LOG_EVERY_MS = 10_000
const LOG_AT_MOST_EVERY_MS = 600_000
const CLOSE_MS = 5_000

/**
 * Sends what waits in the outbox, in its order, and deletes it once the brokers have it. Of all workers one does so at
 * a time. When that one freezes and comes back it may send beside its successor, which repeats events and loses none.
 */
export function startCallSender(options: CallSenderOptions): CallSender {
  const { pool, log } = options
  const times = { ...TIMES, ...options.times }
  const holder = `${hostname()}:${process.pid}:${randomUUID()}`
  const stopping = new AbortController()
  const gate = atMostEvery(LOG_EVERY_MS, LOG_AT_MOST_EVERY_MS)
  let broker: EventBroker | null = null
  let heldAtMs = Number.NEGATIVE_INFINITY
  let measureAtMs = Number.NEGATIVE_INFINITY
  let isChecked = false

  /** Also while a batch is under way, which may take longer than the lease. */
  async function holdLease(): Promise<boolean> {
    const nowMs = performance.now()
    if (nowMs - heldAtMs < times.lease) return true
    if (await holdOutbox(pool, holder)) {
      heldAtMs = nowMs
      return true
    }
    heldAtMs = Number.NEGATIVE_INFINITY
    isChecked = false
    return false
  }

  async function connect(): Promise<EventBroker> {
    broker ??= await options.openBroker()
    if (!isChecked) {
      await broker.check()
      isChecked = true
      await clearOutboxProblem(pool)
      await pruneSkipped(pool)
      if (gate.reopen()) log.info({ event: 'kafka.back' }, 'calls are sent to Kafka again')
    }
    return broker
  }

  async function measure(): Promise<void> {
    if (performance.now() < measureAtMs) return
    const beganMs = performance.now()
    // When it takes too long, or Postgres is away, which the next statement says too.
    await measureOutbox(pool).catch(() => {})
    const tookMs = performance.now() - beganMs
    measureAtMs = performance.now() + Math.max(times.lease, tookMs * MEASURE_SHARE)
  }

  /** @returns Whether there was anything. */
  async function run(to: EventBroker): Promise<boolean> {
    const endsAtMs = performance.now() + RUN_MS
    let after = '0'
    while (!stopping.signal.aborted && performance.now() < endsAtMs) {
      const pages = await selectPages(pool, after, BATCH_EVENTS)
      const last = pages.at(-1)
      if (last === undefined) return after !== '0'
      const events = (await Promise.all(pages.map(({ body }) => unpackPage(body)))).flat()
      await whileHolding(to.send(events))
      await deletePages(
        pool,
        pages.map(({ id }) => id),
      )
      after = last.id
    }
    return true
  }

  /** Renews the lease until `sending` has ended. */
  async function whileHolding(sending: Promise<void>): Promise<void> {
    const timer = setInterval(() => void holdLease().catch(() => {}), times.lease)
    try {
      await sending
    } finally {
      clearInterval(timer)
    }
  }

  async function turn(): Promise<void> {
    if (!(await holdLease())) {
      await pause(times.lease)
      return
    }
    await measure()
    const found = await run(await connect())
    if (found) return
    await truncateOutbox(pool)
    await pause(times.idle)
  }

  async function failed(error: unknown): Promise<void> {
    const problem = options.problemOf(error)
    if (gate.passes())
      log.error({ event: 'kafka.not_sent', err: error, problem }, 'calls do not reach Kafka; they wait')
    const broken = broker
    broker = null
    isChecked = false
    heldAtMs = Number.NEGATIVE_INFINITY
    await broken?.close()
    // Where it was Postgres that failed, this fails too.
    await leaveOutbox(pool, holder, problem).catch(() => {})
  }

  function pause(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: stopping.signal }).catch(() => {})
  }

  async function work(): Promise<void> {
    let pauseMs = times.pause
    while (!stopping.signal.aborted) {
      try {
        await turn()
        pauseMs = times.pause
      } catch (error) {
        await failed(error)
        await pause(pauseMs)
        pauseMs = Math.min(pauseMs * 2, times.longestPause)
      }
    }
  }
  const working = work()

  return {
    async close() {
      stopping.abort()
      await settledWithin(working, CLOSE_MS)
      await broker?.close()
      await settledWithin(leaveOutbox(pool, holder, null), CLOSE_MS)
    },
  }
}

/** Where events go once their calls are counted: Kafka, or what stands in for it in a test. */
export interface EventBroker {
  /** Rejects where nothing can be sent: no broker answers, or the topic is not there. */
  check(): Promise<void>
  /**
   * Resolves once all that have to keep the events do. Events of one key keep their order. When it rejects, some may
   * have arrived.
   */
  send(events: readonly KeyedEvent[]): Promise<void>
  close(): Promise<void>
}

/** @throws When it cannot even be tried. */
type OpenEventBroker = () => Promise<EventBroker>
