import { OLD_NAMES } from '../src/domain/redis/old-redis-names.ts'
import type { Redis } from '../src/store/connection/redis.ts'

/** Where BullMQ keeps the ids of schedules and jobs. */
const SORTED_SETS = ['repeat', 'delayed', 'prioritized', 'completed', 'failed']
const LISTS = ['wait', 'active', 'paused']
const OTHERS = ['id', 'marker', 'events', 'stalled', 'stalled-check', 'limiter', 'pc']

/**
 * Deletes what releases before 0.2.0 kept under other names. Their workers, if any still run, create it again, so it is
 * done again at every pruning. Key by key: a cluster refuses a command for keys of several nodes.
 */
export async function clearOldNames(redis: Redis, redisPrefix: string): Promise<void> {
  await redis.del(OLD_NAMES.offsets(redisPrefix))
  const key = (name: string) => `${OLD_NAMES.queuePrefix(redisPrefix)}:jobs:${name}`
  if ((await redis.exists(key('meta'))) === 0) return
  const ids: string[] = []
  for (const name of SORTED_SETS) ids.push(...(await redis.zrange(key(name), '0', '-1')))
  for (const name of LISTS) ids.push(...(await redis.lrange(key(name), 0, -1)))
  const ofIds = [...new Set(ids)].flatMap((id) => [id, `${id}:lock`, `repeat:${id}`])
  // `meta` last: while it is there, a clearing that was interrupted goes on the next time.
  for (const name of [...ofIds, ...SORTED_SETS, ...LISTS, ...OTHERS, 'meta']) await redis.del(key(name))
}
