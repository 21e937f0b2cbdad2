// @long: half a minute of CPU in kills
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { streamNames } from '../../src/domain/redis/redis-names.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { registerStream } from '../../src/store/ledger/ledger-database.ts'
import { append, aRecord, newProducer, quiet } from '../rollup/records.ts'
import { patienceMs } from '../support/patience.ts'
import { type TestProcess, workerProcess } from '../support/processes.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'

const SHARDS = 4
const RECORDS = 4_000
const AT_A_TIME = 1_000
const KILLS = 6
/** A busy machine takes seconds to start a worker. */
const PATIENCE = { interval: 5 }

let database: TestDatabase
let pool: Postgres
let keys: TestPrefix
let redis: Redis
let workers: TestProcess[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openTestPool(database.url)
  keys = testRedisPrefix()
  redis = openRedis(keys.redisUrl, { name: 'test', whenAway: 'fail', silenceMs: 10_000, log: quiet })
  await untilReady(redis, patienceMs())
})
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
})
afterAll(async () => {
  redis.disconnect()
  await pool.end()
  await Promise.all([keys.drop(), database.drop()])
})

async function requests(): Promise<number> {
  const { rows } = await pool.query(
    'select coalesce(sum(requests), 0)::int as requests from tallygate.daily_usage',
  )
  return rows[0].requests
}

test('two workers with four shards, killed with -9 in turn amid their work: each record is counted once', async () => {
  const streams = streamNames(keys.prefix, SHARDS)
  const producers = streams.map(() => newProducer())
  for (const stream of streams) await registerStream(pool, stream)
  workers = [0, 1].map((number) =>
    workerProcess(`worker ${number}`, {
      DATABASE_URL: database.url,
      REDIS_URL: keys.redisUrl,
      REDIS_PREFIX: keys.prefix,
      LOG_LEVEL: 'fatal',
    }),
  )
  await Promise.all(workers.map((worker) => worker.start()))
  let sent = 0
  const send = async () => {
    for (const [shard, stream] of streams.entries())
      await append(
        redis,
        stream,
        producers[shard] ?? '',
        sent + 1,
        Array.from({ length: AT_A_TIME }, () => aRecord({ clientId: `cli_${shard}` })),
      )
    sent += AT_A_TIME
  }

  let amid = 0
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = await requests()
    if (sent < RECORDS) await send()
    else if (before === SHARDS * RECORDS) break
    await expect.poll(requests, PATIENCE).toBeGreaterThan(before)
    const worker = workers[kill % workers.length]
    await worker?.kill()
    if ((await requests()) < SHARDS * sent) amid += 1
    await worker?.start()
  }
  while (sent < RECORDS) await send()
  expect(amid).toBeGreaterThan(0)
  await expect.poll(requests, PATIENCE).toBe(SHARDS * RECORDS)
  for (const stream of streams) await expect.poll(() => redis.xlen(stream), PATIENCE).toBe(0)

  const { rows } = await pool.query(
    `select p.stream, p.mark::int as "committedOffset", u.requests, c.calls, c.ids
     from tallygate.producers p
       join (select client_id, sum(requests)::int as requests from tallygate.daily_usage group by 1) u
         on u.client_id = 'cli_' || array_position($1, p.stream) - 1
       join (select client_id, count(*)::int as calls, count(distinct call_id)::int as ids
             from tallygate.calls group by 1) c using (client_id)
     order by p.stream`,
    [streams],
  )
  expect(rows).toEqual(
    [...streams].sort().map((stream) => ({
      stream,
      committedOffset: RECORDS,
      requests: RECORDS,
      calls: RECORDS,
      ids: RECORDS,
    })),
  )
})
