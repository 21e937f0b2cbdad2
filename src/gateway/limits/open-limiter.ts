import { randomBytes } from 'node:crypto'
import { settledWithin } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Limit } from '../../limits/limit.ts'
import { LimitEngine } from './limit-engine.ts'
import type { Limiter } from './limiter.ts'
import type { ReadSpent } from './sharing/limit-store.ts'
import { RedisLimitStore } from './sharing/redis-limit-store.ts'

const TICK_MS = 100
/** At the end, the time to give back what is held: others wait for it no longer than this either. */
const CLOSE_MS = 500

export interface OpenLimiterOptions {
  /** The limits that may hold for a client, of `LimitDirectory`: the same list until one of them changes. */
  readonly limitsOf: (clientId: string) => readonly Limit[]
  /** What Postgres has counted of budgets, of `selectSpent`. It must reject soon where Postgres is away. */
  readonly readSpent: ReadSpent
  /** Who numbers a client's records in this process. */
  readonly producerOf: (clientId: string) => string
  /** Milliseconds since 1970: periods of budgets begin and end by it. */
  readonly wallNow: () => number
  readonly redisUrl: string
  readonly redisPrefix: string
  readonly log: Logger
}

/** A limiter at work. */
export interface RunningLimiter extends Limiter {
  /** After the last call. Gives back what this process holds. */
  close(): Promise<void>
}

/** Opens the limits of this gateway process. It never throws because a store is away. */
export function openLimiter(options: OpenLimiterOptions): RunningLimiter {
  const store = new RedisLimitStore(options)
  const engine = new LimitEngine({
    gatewayId: randomBytes(9).toString('base64url'),
    limitsOf: options.limitsOf,
    readSpent: options.readSpent,
    producerOf: options.producerOf,
    store,
    now: () => performance.now(),
    wallNow: options.wallNow,
    defer: (task) => setImmediate(task),
  })
  const timer = setInterval(() => engine.tick(), TICK_MS).unref()
  return Object.assign(engine, {
    async close() {
      clearInterval(timer)
      await settledWithin(engine.giveBack(), CLOSE_MS)
      store.close()
    },
  })
}
