import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { busyness } from '../../support/patience.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { startPrivateRedis, type TestServer } from '../../support/servers/servers.ts'
import { budget, type LimitedClient, type LimitedWorld, startLimitedWorld } from './support/limited-world.ts'
import { costOf } from './support/origin.ts'

const SECONDS = Number(process.env.LIMITS_STALLED_SECONDS ?? 40)
const STALLED_MS = 350
const BETWEEN_MS = 900
const LANES = 8
const LIMIT_PICO = 200_000_000_000n
/** A call of 0.001 USD that reserves a little more. */
const ORDER = { outputTokens: 90, maxTokens: 90 } as const
const COST = costOf(ORDER.outputTokens)

let redis: TestServer
let database: TestDatabase
let world: LimitedWorld

beforeAll(async () => {
  redis = await startPrivateRedis()
  database = await createTestDatabase()
  world = await startLimitedWorld({ gateways: 4, redisUrl: redis.url, databaseUrl: database.url })
})

afterAll(async () => {
  redis?.thaw()
  await world?.stop()
  await database?.drop()
  await redis?.stop()
})

async function addClient(name: string, usd: number): Promise<LimitedClient> {
  const client = await world.addClient(name, [budget(usd)])
  await world.limitsRead()
  return client
}

/** Calls without a pause, over all gateways, until `isOver` says so; returns how many were served. */
async function callOn(client: LimitedClient, isOver: (served: number) => boolean): Promise<number> {
  let served = 0
  const lane = async (index: number) => {
    for (let at = index; !isOver(served); at += 1) {
      const answer = await world.call(client, { gateway: at % 4, ...ORDER }).catch(() => null)
      if (answer?.status === 200) served += 1
      else await delay(20)
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index)))
  return served
}

/** Calls one after the other until the budget is spent at every gateway; returns how many were served. */
async function spendRest(client: LimitedClient): Promise<number> {
  let served = 0
  const isSpent = async (gateway: number) => {
    const { status, code } = await world.call(client, { gateway, ...ORDER })
    if (status === 200) served += 1
    return code === 'budget_exceeded'
  }
  for (const gateway of [0, 1, 2, 3])
    await expect.poll(() => isSpent(gateway), { timeout: 60_000 * busyness(), interval: 20 }).toBe(true)
  return served
}

test('with Redis stopped for 0.35 s in every 1.25 s four gateways spend a budget, and no more than with Redis there', async () => {
  const client = await addClient('stalled', 0.2)
  const endAtMs = performance.now() + SECONDS * 1_000
  const isOver = () => performance.now() > endAtMs
  const stall = async () => {
    while (!isOver()) {
      redis.freeze()
      await delay(STALLED_MS)
      redis.thaw()
      await delay(BETWEEN_MS)
    }
  }
  const [served] = await Promise.all([callOn(client, isOver), stall()])
  const rest = await spendRest(client)
  console.log(`Redis stopped again and again: ${served} served, and ${rest} afterwards`)
  const spent = BigInt(served + rest) * COST
  expect(spent).toBeGreaterThanOrEqual(LIMIT_PICO)
  expect(spent).toBeLessThanOrEqual(LIMIT_PICO + COST)
})

test('with Redis away gateways spend what they were granted, then refuse, and the rest once it is back', async () => {
  const client = await addClient('away', 0.2)
  let served = await callOn(client, (calls) => calls >= 60)
  redis.freeze()
  const awayUntilMs = performance.now() + 12_000
  const alone = await callOn(client, () => performance.now() > awayUntilMs)
  const refused = await world.call(client, { gateway: 0, ...ORDER })
  redis.thaw()
  served += alone
  const rest = await spendRest(client)
  console.log(`Redis away: ${served} served, ${alone} of them alone, and ${rest} afterwards`)
  if (refused.status !== 200 && refused.code !== 'budget_exceeded') {
    expect(refused).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  const spent = BigInt(served + rest) * COST + (refused.status === 200 ? COST : 0n)
  expect(spent).toBeGreaterThanOrEqual(LIMIT_PICO)
  expect(spent).toBeLessThanOrEqual(LIMIT_PICO + COST)
})

test('after kill -9 what the calls of a gateway had reserved is free within the 5 s that a call waits', async () => {
  const client = await addClient('killed', 1)
  // 0.9 USD are reserved, by a call that does not end.
  const running = world
    .call(client, { gateway: 3, outputTokens: 1, maxTokens: 90_000, ms: 120_000 })
    .catch(() => null)
  const isRunning = () => world.origin.requests.some(({ body }) => body.includes('90000'))
  await expect.poll(isRunning, { timeout: 30_000 * busyness() }).toBe(true)
  const held = await world.call(client, { gateway: 0, outputTokens: 1, maxTokens: 50_000 })
  expect(held).toMatchObject({ status: 429, message: expect.stringContaining('running hold the rest') })
  await world.gateways[3]?.kill()
  await running
  const answers = await Promise.all(
    [0, 1, 2].map((gateway) => world.call(client, { gateway, outputTokens: 1, maxTokens: 30_000 })),
  )
  for (const answer of answers) expect(answer).toMatchObject({ status: 200, code: '', message: '' })
  await world.gateways[3]?.start()
})
