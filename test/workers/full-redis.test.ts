import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { workersName } from '../../src/domain/redis/redis-names.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { countAnnounced } from '../../src/store/ledger/shard-leases.ts'
import { startWorkers, type Workers } from '../../workers/workers.ts'
import { append, aRecord, newProducer, quiet } from '../rollup/records.ts'
import { patienceMs } from '../support/patience.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { startPrivateRedis, type TestServer } from '../support/servers/servers.ts'

const PREFIX = 'full:'
const STREAM = `${PREFIX}calls`
/** What the stream may take beside what Redis needs for itself. */
const ROOM_BYTES = 2 * 1_048_576

let database: TestDatabase
let server: TestServer
let pool: Postgres
let redis: Redis
let running: Workers[] = []

beforeAll(async () => {
  ;[database, server] = await Promise.all([createTestDatabase(), startPrivateRedis()])
  const settings = { max: 2, statementTimeoutMs: 5_000, applicationName: 'test', log: quiet }
  pool = openPostgres(database.url, settings)
  redis = openRedis(server.url, { name: 'test', whenAway: 'wait', silenceMs: 5_000, log: quiet })
  await untilReady(redis, patienceMs())
})
afterEach(async () => {
  await redis.config('SET', 'maxmemory', '0')
  await Promise.all(running.splice(0).map((workers) => workers.close()))
  running = []
  await redis.flushall()
  await emptyTables(pool, ['daily_usage', 'call_rows', 'producers'])
})
afterAll(async () => {
  redis?.disconnect()
  await pool?.end()
  await Promise.all([server?.stop(), database?.drop()])
})

function start(count = 1): void {
  for (let index = 0; index < count; index += 1)
    running.push(
      startWorkers({
        databaseUrl: database.url,
        redisUrl: server.url,
        redisPrefix: PREFIX,
        callRetentionDays: 2,
        log: quiet,
      }),
    )
}

/** Leaves so much memory beside what is used; below 0, until so much was freed nothing is taken. */
async function leave(bytes: number): Promise<void> {
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
  await redis.config('SET', 'maxmemory', `${used + bytes}`)
}

/** Sends records of so many producers until Redis takes no more; how many it took. */
async function fill(producers: number): Promise<number> {
  await leave(ROOM_BYTES)
  const ids = Array.from({ length: producers }, newProducer)
  for (let sent = 0; ; sent += 1) {
    const producer = ids[sent % producers] ?? ''
    try {
      await append(redis, STREAM, producer, Math.floor(sent / producers) + 1, [aRecord()])
    } catch (error) {
      expect(String(error)).toContain('OOM')
      await leave(-ROOM_BYTES / 2)
      return sent
    }
  }
}

async function requests(): Promise<number> {
  const { rows } = await pool.query(
    'select coalesce(sum(requests), 0)::int as requests from tallygate.daily_usage',
  )
  return rows[0].requests
}

test.each([
  [1, 1],
  [8, 1],
  [8, 3],
])('a Redis that records of %i producers have filled is emptied by %i workers that start into it', async (producers, workers) => {
  const sent = await fill(producers)
  expect(sent).toBeGreaterThan(500)
  start(workers)
  await expect.poll(requests).toBe(sent)
  await expect.poll(() => redis.xlen(STREAM)).toBe(0)
  expect(await requests()).toBe(sent)
})

test('a Redis that other data keeps full is emptied of records too, by workers that start and that run', async () => {
  const first = await fill(1)
  await redis.config('SET', 'maxmemory', '1')
  await redis.config('RESETSTAT')
  start(2)
  await expect.poll(requests).toBe(first)
  await expect.poll(() => redis.xlen(STREAM)).toBe(0)
  await redis.config('SET', 'maxmemory', '0')
  const records = Array.from({ length: 300 }, () => aRecord())
  const appended = append(redis, STREAM, newProducer(), 1, records)
  await Promise.all([appended, redis.config('SET', 'maxmemory', '1')])
  await expect(redis.set('one', 'more')).rejects.toThrow('OOM')
  await expect.poll(requests).toBe(first + 300)
  await expect.poll(() => redis.xlen(STREAM)).toBe(0)
  // The job queue, which finds no room either, asks again after a pause and not at once.
  const scripts = Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0)
  expect(scripts).toBeLessThan(1_000)
})

test('from the moment at which Redis is full it is not known that no worker runs', async () => {
  const announced = () => countAnnounced(redis, workersName(PREFIX))
  expect(await announced()).toBe(0)
  await leave(-1)
  await expect(announced()).rejects.toThrow('OOM')
  await redis.config('SET', 'maxmemory', '0')
  start()
  await expect.poll(announced).toBe(1)
})
