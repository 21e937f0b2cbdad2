import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { inject } from 'vitest'

/** Keys of one test or test file in the Redis that all share. */
export interface TestPrefix {
  readonly redisUrl: string
  /** Begins every key, ends with a colon. */
  readonly prefix: string
  /** Deletes all keys that begin with it. */
  drop(): Promise<void>
}

export function testRedisPrefix(): TestPrefix {
  const redisUrl = inject('redisUrl')
  const prefix = `test:${randomBytes(6).toString('hex')}:`
  return { redisUrl, prefix, drop: () => deleteKeys(redisUrl, prefix) }
}

async function deleteKeys(redisUrl: string, prefix: string): Promise<void> {
  const redis = new Redis(redisUrl)
  try {
    let cursor = '0'
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1_000)
      if (keys.length > 0) await redis.unlink(keys)
      cursor = next
    } while (cursor !== '0')
  } finally {
    redis.disconnect()
  }
}
