import { Redis } from 'ioredis'
import { NotNow } from './fault.ts'
import type { World } from './world.ts'

/** A connection that gives up soon. */
export function connect(url: string): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: 1, commandTimeout: 5_000, retryStrategy: () => 100 })
  redis.on('error', () => {}) // the command fails, and tells
  return redis
}

/** @throws NotNow where Redis does not answer */
export async function withRedis<T>({ redis }: World, work: (redis: Redis) => Promise<T>): Promise<T> {
  const connection = connect(redis.url)
  try {
    return await work(connection)
  } catch (error) {
    throw new NotNow(`Redis: ${error}`)
  } finally {
    connection.disconnect()
  }
}
