import { utcDayOf } from '../../src/domain/utc-day.ts'
import type { Logger } from '../../src/lib/logger.ts'
import type { AlertKind } from '../../src/limits/alerts/alert-kinds.ts'
import { type Occurrence, raiseAlerts, selectWantedKinds } from '../../src/limits/alerts/raise-alerts.ts'
import { findReachedThresholds } from '../../src/limits/alerts/watch/watch-budgets.ts'
import { findCostlyCalls, findUnpricedCalls } from '../../src/limits/alerts/watch/watch-calls.ts'
import {
  findDeadLetters,
  findGaps,
  findOldBacklogs,
  findWaitingJournals,
  findWrongClocks,
} from '../../src/limits/alerts/watch/watch-ledger.ts'
import { findPriceTroubles } from '../../src/limits/alerts/watch/watch-prices.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { Redis } from '../../src/store/connection/redis.ts'
import { readStreamBacklog } from '../../src/store/connection/redis-state.ts'
import { selectStreams } from '../../src/store/ledger/ledger-database.ts'

export interface AlertWatchOptions {
  readonly pool: Postgres
  readonly redis: Redis
  /** Milliseconds since 1970: whose day is looked at. */
  readonly now?: () => number
  /** Gets the ids of deliveries that were made. */
  readonly onDeliveries: (ids: readonly string[]) => Promise<void>
  readonly log: Logger
}

/** What is looked at again and again, so that receivers learn of it. Doing it twice at once is harmless. */
export interface AlertWatch {
  /** Budgets. It takes at most one part in twenty of the time, however many there are. */
  watchBudgets(): Promise<void>
  /** Everything else. */
  watchOthers(): Promise<void>
  /** Makes these alerts, found elsewhere. */
  raise(occurrences: readonly Occurrence[]): Promise<void>
}

const WATCH_SHARE = 20
/** Calls of a day that is over come in after its end. */
const LATE_MS = 600_000

export function createAlertWatch({
  pool,
  redis,
  now = Date.now,
  onDeliveries,
  log,
}: AlertWatchOptions): AlertWatch {
  let notBeforeMs = Number.NEGATIVE_INFINITY

  async function raise(occurrences: readonly Occurrence[]): Promise<void> {
    const made = await raiseAlerts(pool, occurrences)
    if (made.length === 0) return
    log.info({ event: 'alerts.raised', deliveries: made.length }, 'alerts are on their way to receivers')
    await onDeliveries(made)
  }

  async function backlogs() {
    const streams = await selectStreams(pool)
    const read = streams.map(async (stream) => [stream, await readStreamBacklog(redis, stream)] as const)
    return new Map(await Promise.all(read))
  }

  return {
    raise,

    async watchBudgets() {
      if (performance.now() < notBeforeMs) return
      if (!(await selectWantedKinds(pool)).has('budget')) return
      const beganMs = performance.now()
      for (const day of daysOf(now())) await raise(await findReachedThresholds(pool, day))
      const nowMs = performance.now()
      notBeforeMs = nowMs + (nowMs - beganMs) * (WATCH_SHARE - 1)
    },

    async watchOthers() {
      const wanted = await selectWantedKinds(pool)
      if (wanted.size === 0) return
      const [fromDay = '', today = fromDay] = daysOf(now())
      const finders: readonly (readonly [readonly AlertKind[], () => Promise<readonly Occurrence[]>])[] = [
        [['gap'], () => findGaps(pool, fromDay)],
        [['dead_letters'], () => findDeadLetters(pool, fromDay)],
        [['journal', 'backlog'], () => findWaitingJournals(pool, today)],
        [['clock'], () => findWrongClocks(pool, today)],
        [['costly_call'], () => findCostlyCalls(pool, fromDay)],
        [['unpriced', 'unread'], () => findUnpricedCalls(pool, fromDay)],
        [['backlog'], async () => findOldBacklogs(await backlogs(), today)],
        [['prices'], () => findPriceTroubles(pool, Date.now())],
      ]
      const failures: unknown[] = []
      for (const [kinds, find] of finders) {
        if (!kinds.some((kind) => wanted.has(kind))) continue
        // Without Redis, say, the others are still found.
        await find()
          .then((found) => raise(found.filter(({ kind }) => wanted.has(kind))))
          .catch((error: unknown) => failures.push(error))
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}

/** The UTC days to look at: today, and yesterday as long as its calls come in. */
function daysOf(nowMs: number): readonly string[] {
  return [...new Set([utcDayOf(nowMs - LATE_MS), utcDayOf(nowMs)])]
}
