import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { clockEnvironment } from '../clock/clock.ts'
import { append, aRecord, newProducer, quiet } from '../rollup/records.ts'
import { OFFLINE } from '../support/offline.ts'
import { patienceMs } from '../support/patience.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'

let database: TestDatabase
let pool: Postgres
let keys: TestPrefix
let redis: Redis
let children: ChildProcess[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openTestPool(database.url)
  keys = testRedisPrefix()
  redis = openRedis(keys.redisUrl, { name: 'test', whenAway: 'fail', silenceMs: 5_000, log: quiet })
  await untilReady(redis, patienceMs())
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children = []
})
afterAll(async () => {
  redis.disconnect()
  await pool.end()
  await Promise.all([keys.drop(), database.drop()])
})

function startWorker(environment: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = fork('workers/main.ts', {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [],
    env: {
      PATH: process.env.PATH,
      ...clockEnvironment(),
      ...OFFLINE,
      DATABASE_URL: database.url,
      REDIS_URL: keys.redisUrl,
      REDIS_PREFIX: keys.prefix,
      LOG_LEVEL: 'warn',
      ...environment,
    },
  })
  children.push(child)
  return child
}

async function requests(): Promise<number> {
  const { rows } = await pool.query(
    'select coalesce(sum(requests), 0)::int as requests from tallygate.daily_usage',
  )
  return rows[0].requests
}

test('workers killed with -9 again and again in the middle of their work lose and double nothing', async () => {
  const stream = `${keys.prefix}calls`
  const producer = newProducer()
  const total = 12_000
  for (let sent = 0; sent < total; sent += 1_000) {
    await append(
      redis,
      stream,
      producer,
      sent + 1,
      Array.from({ length: 1_000 }, () => aRecord()),
    )
  }
  for (let kill = 1; kill <= 4; kill += 1) {
    const worker = startWorker()
    const before = await requests()
    // Where this process was busy, the one before may have counted them all.
    const isAtWork = async () => before === total || (await requests()) > before
    await expect.poll(isAtWork, { interval: 5 }).toBe(true)
    worker.kill('SIGKILL')
    await once(worker, 'exit')
  }
  startWorker()
  await expect.poll(requests).toBe(total)
  await expect.poll(() => redis.xlen(stream)).toBe(0)
  const { rows } = await pool.query(
    `select (select sum(requests)::int from tallygate.daily_usage) as requests,
       (select count(*)::int from tallygate.calls) as calls,
       (select mark::int from tallygate.producers) as mark`,
  )
  expect(rows[0]).toEqual({ requests: total, calls: total, mark: total })
})

test('SIGTERM ends a worker in order, within seconds', async () => {
  const worker = startWorker({ LOG_LEVEL: 'info' })
  await outputOf(worker, /worker\.started/)
  worker.kill('SIGTERM')
  const [code, signal] = await once(worker, 'exit')
  expect({ code, signal }).toEqual({ code: 0, signal: null })
})

test('every problem of the configuration is reported at once, and nothing starts', async () => {
  const worker = startWorker({ DATABASE_URL: '', CALL_RETENTION_DAYS: 'soon' })
  const [output, [code]] = await Promise.all([
    outputOf(worker, /CALL_RETENTION_DAYS[\s\S]*DATABASE_URL|DATABASE_URL[\s\S]*CALL_RETENTION_DAYS/),
    once(worker, 'exit'),
  ])
  expect(output).toContain('DATABASE_URL')
  expect(code).toBe(1)
})

/** What the process has written by the time it matches. */
async function outputOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  let output = ''
  await new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (pattern.test(output)) resolve()
      })
    }
  })
  return output
}
