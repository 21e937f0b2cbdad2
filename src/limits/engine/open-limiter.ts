import { settledWithin } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Limit } from '../limit.ts'
import type { ReadSpent } from '../sharing/limit-store.ts'
import { RedisLimitStore } from '../sharing/redis-limit-store.ts'
import { LimitEngine } from './limit-engine.ts'
import type { Limiter } from './limiter.ts'

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
  /** Unlike that of any other process; the process listens on the channel of this name. */
  readonly gatewayId: string
  /** Says in Postgres that this process cannot reach Redis; and which of these others have said so just now. */
  readonly sayCutOff: () => Promise<void>
  readonly selectCutOff: (gatewayIds: readonly string[]) => Promise<ReadonlySet<string>>
  /** Whether another gateway may have run shortly before. */
  readonly hadPeers: () => Promise<boolean>
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
  const store = new RedisLimitStore({ ...options, onConnected: () => engine.reconnected() })
  const engine = new LimitEngine({
    gatewayId: options.gatewayId,
    hadPeers: options.hadPeers,
    lifeSigns: {
      give: options.sayCutOff,
      async findMissing(gatewayIds) {
        const deaf = await store.findDeaf(gatewayIds)
        const cutOff = await options.selectCutOff(gatewayIds)
        const missing = gatewayIds.filter((id) => !cutOff.has(id))
        return new Map(missing.map((id) => [id, deaf.includes(id) ? 'ended' : 'silent']))
      },
    },
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
