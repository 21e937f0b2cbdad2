import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { OLD_NAMES } from '../../src/domain/redis/old-redis-names.ts'
import { queuePrefix } from '../../src/domain/redis/redis-names.ts'
import { clearOldNames } from '../../workers/old-names.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'

test('what an older release kept under its names is deleted, and nothing else', async () => {
  const { redisUrl, prefix, drop } = testRedisPrefix()
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const queues = [OLD_NAMES.queuePrefix(prefix), queuePrefix(prefix)].map(
    (name) => new Queue('jobs', { connection: redis, prefix: name }),
  )
  onTestFinished(async () => {
    await Promise.all(queues.map((queue) => queue.close()))
    redis.disconnect()
    await drop()
  })
  for (const queue of queues) {
    await queue.upsertJobScheduler('roll-up/calls', { every: 60_000 }, { name: 'roll-up' })
    await queue.upsertJobScheduler('verify', { every: 60_000 }, { name: 'verify' })
    await queue.add('roll-up', {})
  }
  await redis.hset(OLD_NAMES.offsets(prefix), 'a'.repeat(32), '7')
  await redis.set(`${prefix}calls`, 'kept')
  const kept = (await redis.keys(`${prefix}*`)).filter(
    (key) => !key.startsWith(OLD_NAMES.queuePrefix(prefix)) && key !== OLD_NAMES.offsets(prefix),
  )
  expect(kept.length).toBeGreaterThan(5)

  await clearOldNames(redis, prefix)
  expect((await redis.keys(`${prefix}*`)).sort()).toEqual(kept.sort())
  await clearOldNames(redis, prefix)
  expect((await redis.keys(`${prefix}*`)).sort()).toEqual(kept.sort())
})
