// @long: each test starts workers that fetch and judge a whole list
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { queuePrefix } from '../../src/domain/redis/redis-names.ts'
import { findCurrentSource } from '../../src/pricing/refresh/price-catalogs.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { openRedis } from '../../src/store/connection/redis.ts'
import { clockEnvironment } from '../clock/clock.ts'
import { changedBundle } from '../pricing/refresh/changed-bundle.ts'
import { type PriceServer, startPriceServer } from '../pricing/refresh/price-server.ts'
import { quiet } from '../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'

let database: TestDatabase
let pool: Postgres
let redis: TestPrefix
let server: PriceServer
let children: ChildProcess[] = []
/** What the workers have written, by all of them. */
let lines: Readonly<Record<string, unknown>>[] = []

beforeAll(async () => {
  server = await startPriceServer()
})
afterAll(() => server.stop())
beforeEach(async () => {
  database = await createTestDatabase()
  redis = testRedisPrefix()
  const log = quiet
  pool = openPostgres(database.url, { max: 2, statementTimeoutMs: 5_000, applicationName: 'test', log })
  lines = []
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children = []
  await pool.end()
  await Promise.all([redis.drop(), database.drop()])
})

function startWorker(environment: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = fork('workers/main.ts', {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    execArgv: [],
    env: {
      PATH: process.env.PATH,
      ...clockEnvironment(),
      DATABASE_URL: database.url,
      REDIS_URL: redis.redisUrl,
      REDIS_PREFIX: redis.prefix,
      PRICES_URL: server.url,
      ...environment,
    },
  })
  let rest = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.map((part) => JSON.parse(part)))
  })
  children.push(child)
  return child
}

const events = () =>
  lines.flatMap(({ event }) => (typeof event === 'string' && event.startsWith('prices.') ? [event] : []))
const inForce = () => findCurrentSource(pool, 'genai-prices')
const newer = changedBundle('gpt-4o', { input_mtok: 3, output_mtok: 10 })

test('one of several workers fetches newer prices when they start, and says so once', async () => {
  server.answerText(newer)
  const before = server.requests.length
  for (let count = 0; count < 3; count += 1) startWorker()
  await expect.poll(inForce).toMatch(/^genai-prices@/)
  await expect.poll(events).toEqual(['prices.taken'])
  // All have started, and none fetches them again.
  await expect.poll(() => lines.filter(({ event }) => event === 'worker.started').length).toBe(3)
  expect(server.requests.length - before).toBe(1)
})

test('a refresh whose worker is killed is done by another', async () => {
  server.answer(() => {}) // never
  const before = server.requests.length
  const killed = startWorker()
  await expect.poll(() => server.requests.length).toBe(before + 1)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  server.answerText(newer)
  startWorker()
  await expect.poll(inForce).toMatch(/^genai-prices@/)
})

test('what is refused is said in one line, as an error', async () => {
  server.answerText('[{"id":"openai"}]')
  startWorker()
  await expect.poll(events).toEqual(['prices.refused'])
  expect(lines.filter(({ level }) => Number(level) >= 50 || level === 'error')).toMatchObject([
    { problem: expect.stringContaining('has no id or no models') },
  ])
  expect(await inForce()).toBeNull()
})

test('without a network there is one log line, which is not an error', async () => {
  const gone = await startPriceServer()
  await gone.stop()
  startWorker({ PRICES_URL: gone.url })
  await expect.poll(events).toEqual(['prices.unreachable'])
  expect(lines.filter(({ level }) => level === 'error' || Number(level) >= 50)).toEqual([])
  expect(lines.filter(({ msg }) => msg === 'a job failed')).toEqual([])
})

test('where Postgres takes nothing, one line says that the old prices stand', async () => {
  const name = new URL(database.url).pathname.slice(1)
  await pool.query(`alter database ${name} set default_transaction_read_only = on`)
  server.answerText(newer)
  startWorker()
  await expect.poll(events).toEqual(['prices.not_taken'])
  expect(lines.find(({ event }) => event === 'prices.not_taken')).toMatchObject({
    err: { message: expect.stringContaining('read-only transaction') },
    msg: 'newer prices cannot be put into Postgres: the old ones stand, and it is tried again later',
  })
  expect(lines.filter(({ job }) => job === 'refresh-prices')).toEqual([])
  expect(await inForce()).toBeNull()
})

test('where it is off, nothing is asked', async () => {
  const before = server.requests.length
  startWorker({ PRICES_REFRESH: 'off' })
  const connection = openRedis(redis.redisUrl, {
    name: 'test',
    whenAway: 'wait',
    silenceMs: 5_000,
    log: quiet,
  })
  // Streams are scheduled behind the daily jobs.
  const scheduled = () =>
    connection.exists(`${queuePrefix(redis.prefix)}:jobs:repeat:roll-up/${streamName()}`)
  await expect.poll(scheduled).toBe(1)
  expect(await connection.exists(`${queuePrefix(redis.prefix)}:jobs:repeat:verify`)).toBe(1)
  expect(await connection.exists(`${queuePrefix(redis.prefix)}:jobs:repeat:refresh-prices`)).toBe(0)
  connection.disconnect()
  expect(server.requests.length).toBe(before)
})

const streamName = () => `${redis.prefix}calls`.replaceAll(':', '/')

test('a setting that is wrong is reported at once, and nothing starts', async () => {
  const worker = startWorker({ PRICES_REFRESH: 'hourly', PRICES_URL: 'ftp://x' })
  expect(await once(worker, 'exit')).toEqual([1, null])
})
