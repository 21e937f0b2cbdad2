// @long: waits for over a minute for what is sent again
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { addReceiver } from '../../src/alerts/receivers.ts'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { clockEnvironment } from '../clock/clock.ts'
import { OFFLINE } from '../support/offline.ts'
import { patienceMs } from '../support/patience.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'
import { addAccount, addBudget, addSpending } from './budget-usage.ts'
import { type ReceivedAlert, startReceiver, status, type TestReceiver } from './receiver.ts'

const USD = 1_000_000_000_000n

let database: TestDatabase
let pool: Postgres
let redis: TestPrefix
let receivers: TestReceiver[] = []
let children: ChildProcess[] = []

beforeEach(async () => {
  database = await createTestDatabase()
  redis = testRedisPrefix()
  pool = openTestPool(database.url)
  await addAccount(pool, 'acme')
  await addBudget(pool, { client: 'acme', per: 'total', amount: USD, since: '2026-01-01' })
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children = []
  await Promise.all(receivers.map((receiver) => receiver.stop()))
  receivers = []
  await pool.end()
  await Promise.all([redis.drop(), database.drop()])
})

function startWorker(environment: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = fork('test/alerts/alert-worker.ts', {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
    env: {
      PATH: process.env.PATH,
      ...clockEnvironment(),
      ...OFFLINE,
      DATABASE_URL: database.url,
      REDIS_URL: redis.redisUrl,
      REDIS_PREFIX: redis.prefix,
      ...environment,
    },
  })
  children.push(child)
  return child
}

async function receive(): Promise<TestReceiver> {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const order = { url: receiver.url, kinds: ['budget'], format: 'generic', client: null } as const
  await addReceiver(pool, { ...order, thresholds: [50, 80, 100], secret: null }, 'somebody')
  return receiver
}

const spend = (costPico: bigint) =>
  addSpending(pool, [{ client: 'acme', day: utcDayOf(Date.now()), costPico }])
const thresholdOf = ({ body }: ReceivedAlert): number => JSON.parse(body).threshold
const idOf = ({ headers }: ReceivedAlert) => String(headers['x-tallygate-delivery'])
const states = async () => {
  const { rows } = await pool.query<{ state: string; deliveries: number }>(
    'select state, count(*)::int as deliveries from tallygate.alert_deliveries group by 1',
  )
  return Object.fromEntries(rows.map(({ state, deliveries }) => [state, deliveries]))
}

/** Fails the first three attempts of each delivery. What it took is kept in `taken`. */
function failThrice(receiver: TestReceiver, taken: number[]): void {
  receiver.answer((alert, response) => {
    const attempt = receiver.received.filter((one) => idOf(one) === idOf(alert)).length
    if (attempt <= 3) return status([500, 302, 429][attempt - 1] ?? 500)(alert, response)
    taken.push(thresholdOf(alert))
    response.writeHead(200).end()
  })
}

test('receivers that fail three times take each threshold exactly once from two workers', async () => {
  const taken: number[][] = [[], []]
  for (const one of taken) failThrice(await receive(), one)
  await spend((USD * 6n) / 10n)
  startWorker()
  startWorker()
  await expect.poll(states).toEqual({ delivered: 2 })
  expect(taken).toEqual([[50], [50]])
  await spend(USD)
  await expect.poll(states).toEqual({ delivered: 6 })
  expect(taken.map((thresholds) => thresholds.sort((a, b) => a - b))).toEqual([
    [50, 80, 100],
    [50, 80, 100],
  ])
  for (const { received } of receivers) expect(received).toHaveLength(12)
})

test('workers killed with -9 while they send, and a Redis that loses everything, repeat nothing that was taken', async () => {
  const receiver = await receive()
  const taken: number[] = []
  // Never answers, so the worker is killed in the middle of an attempt of each.
  receiver.answer(() => {})
  await spend((USD * 12n) / 10n)
  const killed = startWorker()
  await expect.poll(() => new Set(receiver.received.map(idOf)).size).toBe(3)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  await redis.drop()
  receiver.answer((alert, response) => {
    const attempt = receiver.received.filter((one) => idOf(one) === idOf(alert)).length
    if (attempt <= 3) return status(503)(alert, response)
    taken.push(thresholdOf(alert))
    response.writeHead(200).end()
  })
  startWorker()
  startWorker()
  // What a killed worker had claimed is due after 30 s, and what is due is looked for every 15 s.
  const sentAgain = { timeout: 3 * patienceMs() }
  await expect.poll(() => receiver.received.length, sentAgain).toBeGreaterThan(3)
  await redis.drop()
  await expect.poll(states, sentAgain).toEqual({ delivered: 3 })
  expect(taken.sort((a, b) => a - b)).toEqual([50, 80, 100])
})

test('while Redis is away alerts are found and delivered without it', async () => {
  const receiver = await receive()
  await spend(USD)
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const address = free.address()
  const port = typeof address === 'object' ? address?.port : 0
  await new Promise((resolve) => free.close(resolve))
  startWorker({ REDIS_URL: `redis://127.0.0.1:${port}` })
  await expect.poll(states).toEqual({ delivered: 3 })
  expect(receiver.received.map(thresholdOf).sort((a, b) => a - b)).toEqual([50, 80, 100])
})
