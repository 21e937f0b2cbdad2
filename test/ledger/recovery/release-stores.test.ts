import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseName, limitsSinceName, streamName } from '../../../src/domain/redis/redis-names.ts'
import { releaseJournals, releaseRedis } from '../../../src/ledger/recovery/release-stores.ts'
import { type Redis, withRedis } from '../../../src/store/connection/redis.ts'
import { newProducer, quiet } from '../../rollup/records.ts'
import { testRedisPrefix } from '../../support/servers/redis.ts'

const REPLACED = { restored: '1.5', replaced: '2.5', takesAll: false }

const keys = testRedisPrefix()
const redisPrefix = keys.prefix
const names = { redisPrefix, streams: [streamName(redisPrefix, 0)], clientIds: ['cli_a'] }
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-release-'))
})
afterAll(async () => {
  await keys.drop()
  await rm(folder, { recursive: true, force: true })
})

const inRedis = <Result>(work: (redis: Redis) => Promise<Result>) =>
  withRedis(keys.redisUrl, 10_000, quiet, work)

test('a prefix of a third database is left as it is, and one of the replaced is free', async () => {
  await inRedis(async (redis) => {
    await redis.set(databaseName(redisPrefix), '3.5')
    await redis.set(limitsSinceName(redisPrefix), '1')
    await expect(releaseRedis(redis, names, REPLACED)).rejects.toThrow('belong to another database (3.5)')
    expect(await redis.get(limitsSinceName(redisPrefix))).toBe('1')
    await redis.set(databaseName(redisPrefix), '2.5')
    await releaseRedis(redis, names, REPLACED)
    expect(await redis.get(databaseName(redisPrefix))).toBeNull()
    expect(await redis.get(limitsSinceName(redisPrefix))).toBeNull()
  })
})

test('journals of the replaced database alone are given to the restored one', async () => {
  const bound = new Map(['1.5', '2.5', '3.5'].map((database) => [database, newProducer()]))
  for (const [database, producer] of bound) {
    await mkdir(join(folder, producer))
    await writeFile(join(folder, producer, 'database'), `${database}\n`)
  }
  expect(await releaseJournals(folder, REPLACED)).toBe(1)
  const left = [...bound].filter(([, producer]) => existsSync(join(folder, producer, 'database')))
  expect(left.map(([database]) => database)).toEqual(['1.5', '3.5'])
})
