import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { type Cluster, startCluster } from '../../postgres/support/cluster.ts'
import { waitUntil } from '../../redis/support/redis-node.ts'
import { startSentinels, type TestSentinels } from '../../redis/support/sentinels.ts'
import {
  budget,
  type LimitedClient,
  type LimitedWorld,
  rate,
  reportRefusal,
  startLimitedWorld,
} from './support/limited-world.ts'
import { costOf } from './support/origin.ts'

const CALLS = Number(process.env.LIMITS_CALLS ?? 10_000)
const POSTGRES_AWAY_MS = Number(process.env.LIMITS_AWAY_MS ?? 60_000)
const LANES = 16
const LIMIT_PICO = 1_000_000_000_000n

let redis: TestSentinels
let postgres: Cluster
let world: LimitedWorld
let roomy: LimitedClient
let tight: LimitedClient

beforeAll(async () => {
  redis = await startSentinels()
  postgres = await startCluster()
  await migrate(postgres.url, { info() {}, warn() {}, error() {} })
  world = await startLimitedWorld({ gateways: 4, redisUrl: redis.url, databaseUrl: postgres.url })
  roomy = await world.addClient('roomy', [
    budget(10_000),
    budget(100_000, 'month'),
    rate('requests', 1_000_000),
    rate('tokens', 100_000_000),
    rate('concurrent', 500),
  ])
  tight = await world.addClient('tight', [budget(1)])
  await world.limitsRead()
})

afterAll(async () => {
  await world?.stop()
  await postgres?.remove()
  await redis?.stop()
})

test('no call within its limits is refused while stores are flushed, fail over and go away, and limits hold', async () => {
  const falseRefusals: string[] = []
  const other = new Map<number, number>()
  let served = 0
  let tightSpent = 0n
  let started = 0
  let isOver = false

  const lane = async (index: number) => {
    // Calls go on until every fault is over, also beyond the number asked for.
    while (!isOver || started < CALLS) {
      started += 1
      const gateway = (started + index) % 4
      const order = { gateway, outputTokens: 20, maxTokens: 50, stream: started % 3 === 0 }
      const sentAtMs = performance.now()
      const answer = await world.call(roomy, order).catch(() => null)
      if (answer === null) continue
      if (answer.status === 200) served += 1
      else if (answer.status === 429) falseRefusals.push(reportRefusal(gateway, answer, sentAtMs))
      else other.set(answer.status, (other.get(answer.status) ?? 0) + 1)
    }
  }
  const tightLane = async () => {
    for (let at = 0; !isOver; at++) {
      const order = { gateway: at % 4, outputTokens: 300, maxTokens: 500 }
      const answer = await world.call(tight, order).catch(() => null)
      if (answer?.status === 200) tightSpent += costOf(300)
      await delay(50)
    }
  }
  const until = (part: number) =>
    waitUntil(`${part} of the calls`, async () => started >= CALLS * part, 600_000)

  const load = [...Array.from({ length: LANES }, (_, index) => lane(index)), tightLane()]
  await until(0.2)
  await (await redis.master()).ask('FLUSHALL')
  await until(0.4)
  await world.gateways[3]?.kill()
  await until(0.5)
  await world.gateways[3]?.start()
  const before = await redis.master()
  await before.kill()
  await waitUntil('another is master', async () => (await redis.master()) !== before)
  await before.start()
  await until(0.7)
  await postgres.kill()
  await delay(POSTGRES_AWAY_MS)
  await postgres.start()
  await delay(5_000)
  isOver = true
  await Promise.all(load)

  console.log(
    `${started} calls: ${served} served, ${falseRefusals.length} refused with 429, others ${JSON.stringify([...other])}; ` +
      `of a budget of 1 USD ${Number(tightSpent) / 1e12} USD was spent`,
  )
  expect(falseRefusals).toEqual([])
  expect(served).toBeGreaterThan(CALLS * 0.9)
  // What the docs give, whatever was away: one call, as no call costs more than it reserves.
  expect(tightSpent).toBeLessThanOrEqual(LIMIT_PICO + costOf(300))
})
