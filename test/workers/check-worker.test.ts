import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'

const SHIFT_CLOCK = pathToFileURL(join(import.meta.dirname, '../clock/shift-clock.mjs')).href

let database: TestDatabase
let keys: TestPrefix
let redis: Redis
let stream: string

beforeAll(async () => {
  database = await createTestDatabase()
  keys = testRedisPrefix()
  redis = new Redis(keys.redisUrl)
  stream = `${keys.prefix}calls`
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('insert into tallygate.streams (name) values ($1)', [stream])
  await client.end()
})

beforeEach(async () => {
  await redis.del(stream)
})

afterAll(async () => {
  redis.disconnect()
  await keys.drop()
  await database.drop()
})

/** What the check of a worker container says, its clock off by so much. */
async function check(offClockMs = 0): Promise<{ code: number; stderr: string }> {
  const args = ['--import', SHIFT_CLOCK, 'src/standalone/container/check-worker.ts']
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: keys.redisUrl,
    REDIS_PREFIX: keys.prefix,
    TEST_CLOCK_OFFSET_MS: `${offClockMs}`,
  }
  return await promisify(execFile)(process.execPath, args, { env }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    ({ code, stderr }) => ({ code, stderr }),
  )
}

async function addEntry(ageMs: number): Promise<void> {
  const [seconds] = await redis.time()
  await redis.xadd(stream, `${Number(seconds) * 1_000 - ageMs}-0`, 'p', 'x')
}

test('a worker is well while no entry waits for longer than ten seconds, and says so', async () => {
  expect(await check()).toEqual({ code: 0, stderr: '' })
  await addEntry(1_000)
  expect(await check()).toEqual({ code: 0, stderr: '' })
  await redis.del(stream)
  await addEntry(150_000)
  expect(await check()).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^backlog: 1 records wait to be rolled up, the oldest for 15\d s\n$/),
  })
})

test("how long an entry has waited is measured by Redis's clock, whatever the container's says", async () => {
  await addEntry(1_000)
  expect(await check(3_600_000)).toEqual({ code: 0, stderr: '' })
  await redis.del(stream)
  await addEntry(150_000)
  expect(await check(-3_600_000)).toMatchObject({ code: 1 })
})
