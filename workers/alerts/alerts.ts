import { DELIVERIES_AT_ONCE, deliverDue, deliverOne, SWEPT } from '../../src/alerts/deliver-due.ts'
import { selectDueDeliveries } from '../../src/alerts/deliveries.ts'
import { settledWithin } from '../../src/lib/deadline.ts'
import type { Logger } from '../../src/lib/logger.ts'
import { repeat } from '../../src/lib/repeat.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { Redis } from '../../src/store/connection/redis.ts'
import { type JobQueue, openJobQueue, RunAgain, type Schedule } from '../queue.ts'
import { type AlertWatch, createAlertWatch } from './alert-watch.ts'

export interface AlertsOptions {
  readonly pool: Postgres
  readonly redis: Redis
  readonly redisUrl: string
  readonly redisPrefix: string
  readonly queuePrefix: string
  /** Whether Redis answers and takes no jobs, as when it is full. */
  readonly takesNoJobs: () => boolean
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly log: Logger
  /** Between the first attempt of a delivery and the second. */
  readonly firstPauseMs?: number
}

/** The worker's part in alerts: to find what happened, and to deliver it. */
export interface Alerts extends Pick<AlertWatch, 'raise'>, Pick<JobQueue, 'takeJobs'> {
  /** By the names of {@link ALERT_SCHEDULES}. */
  readonly jobs: Readonly<Record<string, () => Promise<void>>>
  close(): Promise<void>
}

const URGENT_EVERY_MS = 2_000
const BUDGETS_EVERY_MS = 15_000
const OTHERS_EVERY_MS = 60_000

export const ALERT_SCHEDULES: readonly Schedule[] = [
  { id: 'watch-urgent', job: 'watch-urgent', subject: '', everyMs: URGENT_EVERY_MS },
  { id: 'watch-budgets', job: 'watch-budgets', subject: '', everyMs: BUDGETS_EVERY_MS },
  { id: 'watch-others', job: 'watch-others', subject: '', everyMs: OTHERS_EVERY_MS },
]

const CLOSE_MS = 2_000

/**
 * Deliveries have a queue of their own: a receiver that does not answer must not hold up what is counted. Postgres has
 * the truth about each, so what Redis loses is given to the queue again, and while Redis is away or full this
 * process looks and delivers without it: that is when alerts are wanted most.
 */
export function startAlerts(options: AlertsOptions): Alerts {
  const { pool, redis, redisUrl, redisPrefix, queuePrefix, log, now = Date.now } = options

  const delivering = { pool, log, firstPauseMs: options.firstPauseMs }
  const queue = openJobQueue({
    redisUrl,
    prefix: queuePrefix,
    name: 'alerts',
    run: async (_, id) => {
      const againInMs = await deliverOne(delivering, id)
      if (againInMs !== null) throw new RunAgain(againInMs)
    },
    log,
  })
  queue.allow(DELIVERIES_AT_ONCE)

  const enqueue = (ids: readonly string[]) => queue.enqueue('deliver', ids)
  // Without Redis they are delivered by the next round.
  const watch = createAlertWatch({
    pool,
    redis,
    redisPrefix,
    now,
    onDeliveries: (ids) => enqueue(ids).catch(() => {}),
    log,
  })

  let isClosed = false
  let oftenAtMs = Number.NEGATIVE_INFINITY
  let othersAtMs = Number.NEGATIVE_INFINITY
  async function workWithoutQueue(): Promise<void> {
    const isThere = await redis.time().then(
      () => true,
      () => false,
    )
    if (isThere && !options.takesNoJobs()) return
    const nowMs = performance.now()
    await watch.watchUrgent()
    if (nowMs - oftenAtMs >= BUDGETS_EVERY_MS) {
      oftenAtMs = nowMs
      await watch.watchOften()
    }
    if (nowMs - othersAtMs >= OTHERS_EVERY_MS) {
      othersAtMs = nowMs
      // What cannot be found without Redis is why it is away.
      await watch.watchOthers().catch(() => {})
    }
    await deliverDue(delivering, () => isClosed)
  }
  // Without Postgres nothing can be done, and others say so.
  const working = repeat(() => workWithoutQueue().catch(() => {}), URGENT_EVERY_MS)

  return {
    raise: (kind, occurrences) => watch.raise(kind, occurrences),
    takeJobs: (isAllowed) => queue.takeJobs(isAllowed),
    jobs: {
      'watch-urgent': () => watch.watchUrgent(),
      'watch-budgets': async () => {
        await enqueue(await selectDueDeliveries(pool, SWEPT))
        await watch.watchOften()
      },
      'watch-others': () => watch.watchOthers(),
    },
    async close() {
      isClosed = true
      await settledWithin(Promise.all([queue.close(), working.stop()]), CLOSE_MS)
    },
  }
}
