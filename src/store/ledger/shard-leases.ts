import { isOutOfMemory, type Redis } from '../connection/redis.ts'

/**
 * Sets the key to its holder for a while, unless it is another's. One key each: they may lie on several nodes. A lease
 * is renewed by what a full Redis does too.
 */
const HOLD = `
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
if holder then redis.call('pexpire', KEYS[1], ARGV[2]) else redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) end
return 1`

const RELEASE = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1])`

/**
 * By Redis's own clock, so that workers' clocks need not agree. It may have been ahead, as that of the master before a
 * failover: an announcement beyond its longest time is of then.
 */
const ANNOUNCE = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
redis.call('zremrangebyscore', KEYS[1], '(' .. string.format('%.0f', now + ARGV[2]), '+inf')
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2])
return redis.call('zrange', KEYS[1], 0, -1)`

/**
 * Takes a lease, or renews it. A lease says which worker is to read a stream, so that others do not read it in vain. It
 * decides nothing else: the lock in Postgres does, and a lease that Redis loses does no harm. So a free lease for which
 * a full Redis has no room counts as held: else what fills it would never be deleted.
 *
 * @returns Whether `holder` has it now.
 */
export async function holdLease(redis: Redis, key: string, holder: string, ms: number): Promise<boolean> {
  return (await unlessFull(redis.eval(HOLD, 1, key, holder, ms), 1)) === 1
}

/** Gives a lease back, unless it is another's. */
export async function releaseLease(redis: Redis, key: string, holder: string): Promise<void> {
  await redis.eval(RELEASE, 1, key, holder)
}

/** Who has a lease; `null`: it is free. */
export async function readLease(redis: Redis, key: string): Promise<string | null> {
  return await redis.get(key)
}

/**
 * Says that a worker runs, for a while.
 *
 * @returns All that run, sorted: every worker sees them in the same order. In a full Redis none can say so, and each
 *   knows of itself.
 */
export async function announceWorker(
  redis: Redis,
  key: string,
  worker: string,
  ms: number,
): Promise<readonly string[]> {
  return ((await unlessFull(redis.eval(ANNOUNCE, 1, key, worker, ms), [worker])) as string[]).sort()
}

/** How many workers say that they run. */
export async function countWorkers(redis: Redis, key: string): Promise<number> {
  const [seconds, microseconds] = await redis.time()
  const nowMs = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
  return (await redis.zrangebyscore(key, `(${nowMs}`, '+inf')).length
}

/** The commands of an announcement are tried first: where it is refused, none who runs could say so. */
const COUNT = `
redis.call('zadd', KEYS[1], 0, '')
redis.call('zrem', KEYS[1], '')
return redis.call('zcard', KEYS[1])`

/** How many workers said a moment ago that they run. Rejects where none could, as in a Redis that is full. */
export async function countAnnounced(redis: Redis, key: string): Promise<number> {
  return Number(await redis.eval(COUNT, 1, key))
}

/** The answer, or `otherwise` where Redis has no memory for what was asked. */
async function unlessFull<T>(answer: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (isOutOfMemory(error)) return otherwise
    throw error
  }
}

/** Says that a worker has ended, so that its shards need not wait. */
export async function withdrawWorker(redis: Redis, key: string, worker: string): Promise<void> {
  await redis.zrem(key, worker)
}
