import type { Logger } from '../../src/lib/logger.ts'
import { atMostEvery, repeat } from '../../src/lib/repeat.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { isOutOfMemory, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { readDatabaseId } from '../../src/store/ledger/ledger-database.ts'

export interface PrefixClaimOptions {
  readonly pool: Postgres
  readonly redis: Redis
  readonly redisPrefix: string
  /** Where the identity of the database is kept that the prefix belongs to. */
  readonly key: string
  /** Whether this worker may read streams and take jobs; called when that changes. */
  readonly onChange: (isHeld: boolean) => void
  readonly log: Logger
}

/** That the keys under REDIS_PREFIX belong to this worker's database. Without it, it counts nothing. */
export interface PrefixClaim {
  /** Whether it is so, as far as Redis and Postgres have said; not before both have answered once. */
  readonly isHeld: boolean
  /** The identity of this worker's database; `null`: not known. */
  readonly databaseId: string | null
  close(): Promise<void>
}

const CHECK_EVERY_MS = 1_000
const CONNECT_MS = 2_000
/**
 * A worker that was refused waits so long for a prefix to be free. Those that hold it look every second, so that one
 * whose key was lost with all of Redis stays theirs.
 */
const FREE_FOR_MS = 10_000
const LOG_EVERY_MS = 60_000
const LOG_EVERY_MAX_MS = 3_600_000

/** Claims the prefix for the database, or finds out that it is another's, and looks every second from then on. */
export function claimPrefix(options: PrefixClaimOptions): PrefixClaim {
  const { pool, redis, redisPrefix, key, onChange, log } = options
  const gate = atMostEvery(LOG_EVERY_MS, LOG_EVERY_MAX_MS)
  let isHeld = false
  let databaseId: string | null = null
  /** When it was another's last, by the monotonic clock. */
  let takenAtMs = Number.NEGATIVE_INFINITY

  function decide(held: boolean): void {
    if (held === isHeld) return
    isHeld = held
    onChange(held)
  }

  async function check(): Promise<void> {
    databaseId = await readDatabaseId(pool)
    // Nothing tells this database from others.
    if (databaseId === null) return decide(true)
    await untilReady(redis, CONNECT_MS)
    let owner = await redis.get(key)
    if (owner === null && performance.now() - takenAtMs >= FREE_FOR_MS) {
      // A full Redis has no room for the claim: what fills it is counted first. Entries say whose they are.
      if (!(await isSet(key, databaseId))) return decide(true)
      owner = await redis.get(key)
    }
    if (owner === null) return
    if (owner !== databaseId) {
      takenAtMs = performance.now()
      if (gate.passes())
        log.error(
          { event: 'worker.prefix_of_another', redisPrefix, owner, database: databaseId },
          prefixOfAnother(redisPrefix),
        )
    } else if (gate.reopen())
      log.info(
        { event: 'worker.prefix_claimed', redisPrefix },
        'the Redis prefix belongs to this database now',
      )
    decide(owner === databaseId)
  }

  /** Whether there was room for it. */
  async function isSet(name: string, value: string): Promise<boolean> {
    try {
      await redis.set(name, value, 'NX')
      return true
    } catch (error) {
      if (isOutOfMemory(error)) return false
      throw error
    }
  }

  // What cannot be looked up changes nothing: without Redis or Postgres nothing is counted anyway.
  const checking = repeat(() => check().catch(() => {}), CHECK_EVERY_MS)
  return {
    get isHeld() {
      return isHeld
    },
    get databaseId() {
      return databaseId
    },
    close: () => checking.stop(),
  }
}

function prefixOfAnother(redisPrefix: string): string {
  return `nothing is counted: the Redis keys ${redisPrefix}* belong to another database; give one of the two deployments another REDIS_PREFIX or, where the other is gone for good, delete these keys`
}
