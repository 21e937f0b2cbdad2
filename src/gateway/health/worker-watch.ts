import { deliverDue } from '../../alerts/deliver-due.ts'
import { raiseAlerts, selectWantedKinds } from '../../alerts/raise-alerts.ts'
import { workersName } from '../../domain/redis/redis-names.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import { repeat } from '../../lib/repeat.ts'
import { noWorkerRuns } from '../../store/conditions/workers.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { COUNTING_LATE_MS } from '../../store/ledger/counting-late.ts'
import { countAnnounced } from '../../store/ledger/shard-leases.ts'

export interface WorkerWatchOptions {
  readonly pool: Postgres
  readonly redis: Redis
  readonly redisPrefix: string
  /** The time of day, milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
}

const EVERY_MS = 1_000
const ANSWER_MS = 500
/** The kind of alert that says it. */
const NO_WORKER = 'backlog'

/**
 * Workers send alerts, so none would tell that there is no worker. Gateways see that none announces itself, whether
 * there are calls or not, and send that alert, and what else is due, until one does. Each alert goes once, however many
 * gateways there are. Where Redis does not say who runs, workers that run send alerts themselves.
 */
export function watchWorkers(options: WorkerWatchOptions): { stop(): Promise<void> } {
  const { pool, redis, redisPrefix, now, log } = options
  let seenAtMs = performance.now()
  let isStopped = false

  async function check(): Promise<void> {
    const counted = countAnnounced(redis, workersName(redisPrefix))
    const workers = await withinDeadline(counted, ANSWER_MS).catch(() => null)
    const nowMs = performance.now()
    if (workers !== 0) seenAtMs = nowMs
    if (nowMs - seenAtMs < COUNTING_LATE_MS || !(await selectWantedKinds(pool)).has(NO_WORKER)) return
    const made = await raiseAlerts(pool, [{ kind: NO_WORKER, ...noWorkerRuns(utcDayOf(now())) }])
    if (made.length > 0)
      log.info({ event: 'alerts.raised', deliveries: made.length }, 'alerts are on their way to receivers')
    await deliverDue({ pool, log }, () => isStopped)
  }

  // Without Postgres nothing can be sent, and others say so.
  const checking = repeat(() => check().catch(() => {}), EVERY_MS)
  return {
    async stop() {
      isStopped = true
      await checking.stop()
    },
  }
}
