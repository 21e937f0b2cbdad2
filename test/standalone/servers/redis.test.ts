import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { testRedisPrefix } from '../../support/servers/redis.ts'
import { startPrivateRedis } from '../../support/servers/servers.ts'

async function ask<T>(url: string, ask_: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { retryStrategy: () => null, commandTimeout: 1_000, lazyConnect: true })
  redis.on('error', () => {})
  try {
    await redis.connect()
    return await ask_(redis)
  } finally {
    redis.disconnect()
  }
}

test('a prefix is deleted as a whole, and nothing else with it', async () => {
  const [mine, other] = [testRedisPrefix(), testRedisPrefix()]
  await ask(mine.redisUrl, async (redis) => {
    await redis.mset(`${mine.prefix}a`, '1', `${mine.prefix}b`, '2', `${other.prefix}a`, '3')
    await mine.drop()
    expect(await redis.exists(`${mine.prefix}a`, `${mine.prefix}b`)).toBe(0)
    expect(await redis.get(`${other.prefix}a`)).toBe('3')
  })
  await other.drop()
})

test('a durable private server keeps what it acknowledged over kill -9, and never evicts', async () => {
  const server = await startPrivateRedis({ durable: true })
  await ask(server.url, async (redis) => {
    expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
    await redis.set('kept', 'yes')
  })
  await server.kill()
  await expect(ask(server.url, (redis) => redis.ping())).rejects.toThrow()
  await server.start()
  expect(await ask(server.url, (redis) => redis.get('kept'))).toBe('yes')
  await server.stop()
  await expect(ask(server.url, (redis) => redis.ping())).rejects.toThrow()
})

test('a frozen server accepts and never answers, until it is thawed', async () => {
  const server = await startPrivateRedis()
  server.freeze()
  await expect(ask(server.url, (redis) => redis.ping())).rejects.toThrow()
  server.thaw()
  expect(await ask(server.url, (redis) => redis.ping())).toBe('PONG')
  await server.stop()
})
