import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { findIllness } from '../../src/doctor/find-illness.ts'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { type Redis as OurRedis, openRedis } from '../../src/store/connection/redis.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'

let database: TestDatabase
let keys: TestPrefix
let redis: Redis
let pool: Postgres
let watch: OurRedis
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
  pool = openPostgres(database.url, {
    max: 1,
    statementTimeoutMs: 5_000,
    applicationName: 'tallygate test',
    log: SILENT_LOG,
  })
  watch = openRedis(keys.redisUrl, {
    name: 'tallygate test',
    whenAway: 'wait',
    silenceMs: 3_000,
    log: SILENT_LOG,
  })
})

beforeEach(async () => {
  await redis.del(stream)
})

afterAll(async () => {
  redis.disconnect()
  watch.disconnect()
  await pool.end()
  await keys.drop()
  await database.drop()
})

/** Why a worker is ill, its clock off by so much. */
async function check(offClockMs = 0): Promise<string | null> {
  const nowMs = Date.now() + offClockMs
  return await findIllness({ pool, redis: async () => watch, redisPrefix: keys.prefix, nowMs })
}

async function addEntry(ageMs: number): Promise<void> {
  const [seconds] = await redis.time()
  await redis.xadd(stream, `${Number(seconds) * 1_000 - ageMs}-0`, 'p', 'x')
}

test('a worker is well while no entry waits for longer than ten seconds, and says so', async () => {
  expect(await check()).toBeNull()
  await addEntry(1_000)
  expect(await check()).toBeNull()
  await redis.del(stream)
  await addEntry(150_000)
  expect(await check()).toMatch(
    /^backlog: 1 records wait to be rolled up, the oldest for (1[5-9]\d|[2-9]\d\d) s$/,
  )
})

test("how long an entry has waited is measured by Redis's clock, whatever the container's says", async () => {
  await addEntry(1_000)
  expect(await check(3_600_000)).toBeNull()
  await redis.del(stream)
  await addEntry(150_000)
  expect(await check(-3_600_000)).toMatch(/^backlog/)
})
