import type { AnyCondition } from '../../domain/conditions/condition.ts'
import type { Postgres } from '../connection/postgres.ts'
import type { Redis } from '../connection/redis.ts'

/** The servers of a deployment, for those who look whether all is well. */
export interface StorePorts {
  readonly pool: Postgres
  /** Connects at its first use. Rejects where Redis is away. */
  readonly redis: () => Promise<Redis>
  /** Begins every Redis key. */
  readonly redisPrefix: string
  /** The time of day, milliseconds since 1970. */
  readonly nowMs: number
}

/** A condition of a deployment. Its alert is found by the servers alone: workers look for it. */
export type Condition<Ports = StorePorts> = AnyCondition<Ports, StorePorts>
