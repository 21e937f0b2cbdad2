import type { AlertKind } from '../../src/alerts/alert-kinds.ts'
import { raiseAlerts, selectWantedKinds } from '../../src/alerts/raise-alerts.ts'
import { ALERTS } from '../../src/doctor/conditions.ts'
import type { Occurrence, WatchedAlert } from '../../src/domain/conditions/condition.ts'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import type { Logger } from '../../src/lib/logger.ts'
import type { StorePorts } from '../../src/store/conditions/condition.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { Redis } from '../../src/store/connection/redis.ts'

export interface AlertWatchOptions {
  readonly pool: Postgres
  readonly redis: Redis
  readonly redisPrefix: string
  /** Milliseconds since 1970: whose day is looked at. */
  readonly now?: () => number
  /** Gets the ids of deliveries that were made. */
  readonly onDeliveries: (ids: readonly string[]) => Promise<void>
  readonly log: Logger
}

/** What is looked at again and again, so that receivers learn of it. Doing it twice at once is harmless. */
export interface AlertWatch {
  /** What is to be known at once. */
  watchUrgent(): Promise<void>
  /** What is looked for often. It takes at most one part in twenty of the time, however much there is. */
  watchOften(): Promise<void>
  /** Everything else. */
  watchOthers(): Promise<void>
  /** Makes these alerts, found elsewhere. */
  raise(kind: AlertKind, occurrences: readonly Occurrence[]): Promise<void>
}

const WATCH_SHARE = 20
/** Calls of a day that is over come in after its end. */
const LATE_MS = 600_000

export function createAlertWatch({
  pool,
  redis,
  redisPrefix,
  now = Date.now,
  onDeliveries,
  log,
}: AlertWatchOptions): AlertWatch {
  let notBeforeMs = Number.NEGATIVE_INFINITY

  async function raise(kind: AlertKind, occurrences: readonly Occurrence[]): Promise<void> {
    const made = await raiseAlerts(
      pool,
      occurrences.map((one) => ({ ...one, kind })),
    )
    if (made.length === 0) return
    log.info({ event: 'alerts.raised', deliveries: made.length }, 'alerts are on their way to receivers')
    await onDeliveries(made)
  }

  async function watch(when: WatchedAlert<StorePorts>['when']): Promise<void> {
    const wanted = await selectWantedKinds(pool)
    const nowMs = now()
    const ports = { pool, redis: async () => redis, redisPrefix, nowMs }
    const days = { fromDay: utcDayOf(nowMs - LATE_MS), today: utcDayOf(nowMs) }
    const failures: unknown[] = []
    for (const alert of ALERTS) {
      if ('raisedBy' in alert || alert.when !== when || !wanted.has(alert.kind)) continue
      for (const find of alert.finders) {
        // Without Redis, say, the others are still found.
        await find(ports, days)
          .then((found) => raise(alert.kind, found))
          .catch((error: unknown) => failures.push(error))
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  return {
    raise,

    watchUrgent: () => watch('at once'),

    async watchOften() {
      if (performance.now() < notBeforeMs) return
      const beganMs = performance.now()
      await watch('often')
      const nowMs = performance.now()
      notBeforeMs = nowMs + (nowMs - beganMs) * (WATCH_SHARE - 1)
    },

    watchOthers: () => watch('each minute'),
  }
}
