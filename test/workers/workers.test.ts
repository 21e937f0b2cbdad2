import { setTimeout as delay } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { leaseName, queuePrefix } from '../../src/domain/redis/redis-names.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { sumTriedDays } from '../../src/limits/tried/tried-days.ts'
import { dropTried, tryLimit } from '../../src/limits/tried/tried-table.ts'
import { ADVISORY_LOCKS } from '../../src/store/connection/advisory-locks.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { openRedis, type Redis } from '../../src/store/connection/redis.ts'
import { registerStream } from '../../src/store/ledger/ledger-database.ts'
import { startWorkers, type Workers } from '../../workers/workers.ts'
import { append, aRecord, newProducer, quiet } from '../rollup/records.ts'
import { busyness } from '../support/patience.ts'
import { openTestPool } from '../support/servers/database.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { startPrivatePostgres, startPrivateRedis, type TestServer } from '../support/servers/servers.ts'

const PREFIX = 'test:'
const STREAM = `${PREFIX}calls`
/** What src/store/connection/prune-locks.ts takes to make partitions. */

let postgres: TestServer
let redisServer: TestServer
let pool: Postgres
let redis: Redis
let running: Workers[] = []
let producer: string
let sent = 0

beforeAll(async () => {
  ;[postgres, redisServer] = await Promise.all([startPrivatePostgres(), startPrivateRedis()])
  await migrate(postgres.url, quiet)
  pool = openTestPool(postgres.url, { max: 3, statementTimeoutMs: 3_000 })
  redis = openRedis(redisServer.url, { name: 'test', whenAway: 'wait', silenceMs: 5_000, log: quiet })
})
afterAll(async () => {
  redis.disconnect()
  await pool.end()
  await Promise.all([postgres.stop(), redisServer.stop()])
})
beforeEach(async () => {
  producer = newProducer()
  sent = 0
  await emptyTables(pool, ['daily_usage', 'call_rows'])
})
afterEach(async () => {
  await Promise.all(running.map((workers) => workers.close()))
  running = []
  await redis.flushall()
})

function start(count = 1, callRetentionDays = 2): void {
  for (let index = 0; index < count; index += 1) {
    running.push(
      startWorkers({
        databaseUrl: postgres.url,
        redisUrl: redisServer.url,
        redisPrefix: PREFIX,
        callRetentionDays,
        log: quiet,
      }),
    )
  }
}

async function send(count: number, stream = STREAM): Promise<void> {
  const records = Array.from({ length: count }, () => aRecord())
  await append(redis, stream, producer, sent + 1, records)
  sent += count
}

async function requests(): Promise<number | null> {
  const { rows } = await pool
    .query('select coalesce(sum(requests), 0)::int as requests from tallygate.daily_usage')
    .catch(() => ({ rows: [] }))
  return rows[0]?.requests ?? null
}

/** Resolves with the time it took until all that was sent is in the totals, and fails if more is. */
async function untilCounted(): Promise<number> {
  const beganMs = performance.now()
  await expect.poll(requests, { interval: 10 }).toBe(sent)
  return performance.now() - beganMs
}

/** Resolves when no drain is under way that would count the next entry by chance: none has waited for half a second. */
async function untilNoneReads(): Promise<void> {
  let quietSinceMs = performance.now()
  await expect
    .poll(
      async () => {
        // Other streams that tests before have registered are read all the same.
        const clients = String(await redis.client('LIST')).split('\n')
        const reads = (client: string) => client.includes(`${STREAM} `) && /flags=b .*cmd=xread/.test(client)
        if (clients.some(reads)) quietSinceMs = performance.now()
        return performance.now() - quietSinceMs
      },
      { interval: 20 },
    )
    .toBeGreaterThan(500)
}

test('a call is in the totals within two seconds, whenever it comes, and its row is kept', async () => {
  start()
  await send(1)
  await untilCounted()
  const lagsMs: number[] = []
  for (let call = 0; call < 25; call += 1) {
    await delay((call * 137) % 400) // at all phases of the jobs' second
    await send(1)
    lagsMs.push(await untilCounted())
  }
  // One in 25 may be slow for reasons of a machine that runs other tests at once.
  expect(lagsMs.filter((lagMs) => lagMs > 2_000 * busyness()).length).toBeLessThanOrEqual(1)
  const { rows } = await pool.query('select count(*)::int as calls from tallygate.calls')
  expect(rows[0]).toEqual({ calls: sent })
})

test('workers that start with a shorter retention prune what it no longer covers at once', async () => {
  start()
  await send(1)
  await untilCounted()
  const calls = async () => (await pool.query('select count(*)::int as calls from tallygate.calls')).rows
  expect(await calls()).toEqual([{ calls: 1 }])
  await Promise.all(running.splice(0).map((workers) => workers.close()))
  start(1, 0)
  await expect.poll(calls).toEqual([{ calls: 0 }])
})

test('workers count what a tried limit would have refused, as soon as they start', async () => {
  start()
  await send(3)
  await untilCounted()
  await Promise.all(running.map((workers) => workers.close()))
  await redis.flushall()
  const scope = { clientId: null, keyId: null, model: null }
  const order = { kind: 'requests', per: null, isSoft: false, amount: 2n } as const
  // Midnight may come in between.
  const id = (await tryLimit(pool, scope, order, addDays(utcDayOf(Date.now()), -1))) ?? ''
  start()
  const counted = async () => (await sumTriedDays(pool, null)).get(id)
  await expect.poll(counted).toMatchObject({ calls: 3, refused: 1 })
  await dropTried(pool, id)
})

test('a worker that has to wait long for the first partitions keeps the first calls all the same', async () => {
  const { rows: partitions } = await pool.query(
    `select inhrelid::regclass as name from pg_inherits where inhparent = 'tallygate.call_rows'::regclass`,
  )
  for (const { name } of partitions) await pool.query(`drop table ${name}`)
  const waiters = async (): Promise<readonly string[]> => {
    const { rows } = await pool.query(
      `select virtualtransaction as name from pg_locks where locktype = 'advisory' and not granted`,
    )
    return rows.map(({ name }) => name)
  }
  const other = await pool.connect()
  try {
    await other.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.partitions])
    start()
    await send(1)
    await expect.poll(waiters, { interval: 5 }).not.toEqual([])
    const first = await waiters()
    const firstStillWait = async () => (await waiters()).filter((name) => first.includes(name))
    // Its patience with a lock is five seconds: then the lock was refused, and another try has begun.
    await expect.poll(firstStillWait, { interval: 5 }).toEqual([])
  } finally {
    other.release(true)
  }
  await untilCounted()
  const { rows } = await pool.query('select count(*)::int as calls from tallygate.calls')
  expect(rows).toEqual([{ calls: 1 }])
})

test('two workers and the same job many times at once count each call once', async () => {
  start(2)
  const queue = new Queue('jobs', { connection: redis, prefix: queuePrefix(PREFIX) })
  for (let round = 0; round < 20; round += 1) {
    await send(100)
    await Promise.all([1, 2, 3, 4].map(() => queue.add('roll-up', { subject: STREAM })))
  }
  await untilCounted()
  await expect.poll(() => redis.xlen(STREAM)).toBe(0)
  expect(await requests()).toBe(2_000)
})

test('streams registered while the workers run are drained too', async () => {
  start()
  await registerStream(pool, `${STREAM}:1`)
  await send(10, `${STREAM}:1`)
  await untilCounted()
})

test('after everything in Redis was lost, counting goes on within seconds', async () => {
  start()
  await send(5)
  await untilCounted()
  for (let round = 0; round < 3; round += 1) {
    await redis.flushall()
    await send(5)
    expect(await untilCounted()).toBeLessThan(4_000 * busyness())
  }
})

test('chains of jobs that broke between two of their steps are started again', async () => {
  start()
  await send(1)
  await untilCounted()
  const jobs = await redis.keys(`${queuePrefix(PREFIX)}:jobs:*`)
  const scheduler = jobs.filter((key) => /:jobs:(repeat|meta)/.test(key) && !/:repeat:.*:\d+$/.test(key))
  expect(scheduler.length).toBeGreaterThan(0)
  await redis.del(jobs.filter((key) => !scheduler.includes(key)))
  // No worker counts the shard meanwhile, so that nothing but the chain can go on.
  await redis.set(leaseName(PREFIX, STREAM), 'another', 'PX', 60_000)
  await untilNoneReads()
  await send(1)
  const queue = new Queue('jobs', { connection: redis, prefix: queuePrefix(PREFIX) })
  const broken = async () => {
    const schedulers = await queue.getJobSchedulers()
    const jobs = await Promise.all(schedulers.map(({ key, next }) => queue.getJob(`repeat:${key}:${next}`)))
    return schedulers.filter((_, index) => jobs[index] === undefined).map(({ key }) => key)
  }
  expect(await queue.getJobSchedulersCount()).toBeGreaterThan(3)
  await expect.poll(broken).toEqual([])
  await redis.del(leaseName(PREFIX, STREAM))
  await untilCounted()
})

test('a queue that does nothing does not keep calls from being counted', async () => {
  const queue = new Queue('jobs', { connection: redis, prefix: queuePrefix(PREFIX) })
  await queue.pause()
  start()
  await send(1)
  await untilCounted()
  await send(3)
  await untilCounted()
})

test('Redis that dies and comes back empty, or freezes, is found again within seconds', async () => {
  start()
  await send(5)
  await untilCounted()
  await redisServer.kill()
  await redisServer.start()
  await send(5)
  await untilCounted()
  redisServer.freeze()
  await delay(4_000) // longer than the connections' patience
  redisServer.thaw()
  await send(5)
  await untilCounted()
})

test('Postgres that dies, or freezes, is found again within seconds, and nothing is counted twice', async () => {
  start()
  await send(5)
  await untilCounted()
  await postgres.kill()
  await send(200)
  await postgres.start()
  await untilCounted()
  postgres.freeze()
  await send(200)
  await delay(1_000)
  postgres.thaw()
  await untilCounted()
  await expect.poll(() => redis.xlen(STREAM)).toBe(0)
  expect(await requests()).toBe(sent)
})

test('workers that start before Redis and Postgres begin when they are there', async () => {
  await Promise.all([postgres.kill(), redisServer.kill()])
  start()
  await Promise.all([postgres.start(), redisServer.start()])
  await send(5)
  await untilCounted()
})
