import { expect, test } from 'vitest'
import type { LimitEngine } from '../../../src/limits/engine/limit-engine.ts'
import type { CallToLimit, LimitRefusal, Reservation } from '../../../src/limits/engine/limiter.ts'
import { callOf, Fleet, limitOf, settled, USD } from './fakes.ts'

type Answer = Reservation | LimitRefusal | null

const DAY = '2026-11-22'
const RESERVED = {
  error: 'rate_limit_exceeded',
  reason: 'reserved',
  detail: { headers: { 'retry-after': '30' } },
}

/** What becomes of a call within 5 s. */
async function admit(fleet: Fleet, gateway: LimitEngine, call: CallToLimit): Promise<Answer | undefined> {
  let answer: Answer | undefined
  void Promise.resolve(gateway.admit(call)).then((value) => {
    answer = value
  })
  await settled()
  for (let waited = 0; answer === undefined && waited < 6_000; waited += 100) await fleet.pass(100)
  return answer
}

async function submit(fleet: Fleet, gateway: LimitEngine, pico: bigint, sequence: number): Promise<void> {
  const held = await admit(fleet, gateway, callOf({ estimatedPico: pico }))
  if (held === undefined || held === null || 'error' in held)
    throw new Error(`refused: ${JSON.stringify(held)}`)
  held.settle([], sequence, pico)
  held.release()
}

function commitJob(fleet: Fleet, producer: string, offset: number, pico: bigint): void {
  fleet.postgres.offsets.set(producer, offset)
  fleet.postgres.jobs.push({ clientId: 'c', keyId: 'k', model: 'gpt-4o', day: DAY, pico })
}

test('a job reserves on after its call, at every gateway, before Postgres knows of it', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const [first, second] = fleet.gateways
  if (first === undefined || second === undefined) throw new Error('no gateways')
  await submit(fleet, first, (USD * 6n) / 10n, 1)
  await fleet.pass(2_000)
  for (const gateway of fleet.gateways) {
    expect(await admit(fleet, gateway, callOf({ estimatedPico: USD / 2n }))).toMatchObject(RESERVED)
    expect(await admit(fleet, gateway, callOf({ estimatedPico: USD / 10n }))).toHaveProperty('settle')
  }
})

test('a thousand submissions under a budget of one dollar reserve no more than the dollar', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  let admitted = 0
  for (let calls = 0; calls < 1_000; calls += 1) {
    const gateway = fleet.gateways[calls % 2]
    if (gateway === undefined) throw new Error('no gateway')
    const held = await admit(fleet, gateway, callOf({ estimatedPico: USD / 4n }))
    if (held === undefined || held === null || 'error' in held) continue
    admitted += 1
    held.settle([], calls + 1, USD / 4n)
    held.release()
  }
  expect(admitted).toBe(4)
})

test('no job is reserved twice while Postgres counts it, and its cost takes its place', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  await submit(fleet, fleet.first, USD / 2n, 1)
  commitJob(fleet, 'p1', 1, USD / 2n)
  for (let second = 0; second < 40; second += 1) {
    for (const gateway of fleet.gateways) {
      const held = await admit(fleet, gateway, callOf({ estimatedPico: (USD * 45n) / 100n }))
      expect(held).toHaveProperty('settle')
      if (held !== undefined && held !== null && !('error' in held)) held.release()
    }
    await fleet.pass(1_000)
  }
  fleet.postgres.jobs.length = 0
  fleet.postgres.commit('p1', 2, { clientId: 'c', keyId: 'k', model: 'gpt-4o', day: DAY, pico: USD / 10n })
  await fleet.pass(35_000)
  const held = await admit(fleet, fleet.first, callOf({ estimatedPico: (USD * 8n) / 10n }))
  expect(held).toHaveProperty('settle')
})

test('waiting jobs hold the budget over the end of all gateways and the loss of Redis', async () => {
  const fleet = new Fleet([limitOf('b')])
  await submit(fleet, fleet.first, USD, 1)
  commitJob(fleet, 'p1', 1, USD)
  fleet.gateways.length = 0
  fleet.redis.hashes.clear()
  const next = fleet.start('p2')
  expect(await admit(fleet, next, callOf())).toMatchObject(RESERVED)
})

test('the figure of what is spent is without what jobs reserve', async () => {
  const fleet = new Fleet([limitOf('b')])
  await submit(fleet, fleet.first, USD / 2n, 1)
  const held = await admit(fleet, fleet.first, callOf({ estimatedPico: USD / 10n }))
  if (held === undefined || held === null || 'error' in held) throw new Error('refused')
  held.settle([{ model: 'gpt-4o', costPico: USD, tokens: 1, cachedTokens: 0 }], 2)
  held.release()
  expect(await admit(fleet, fleet.first, callOf())).toMatchObject({
    error: 'budget_exceeded',
    detail: { message: expect.stringContaining('is spent: 1 USD since') },
  })
})

test('a lone call does not take more than waiting jobs leave', async () => {
  const fleet = new Fleet([limitOf('b')])
  await submit(fleet, fleet.first, (USD * 99n) / 100n, 1)
  expect(await admit(fleet, fleet.first, callOf({ estimatedPico: USD }))).toMatchObject(RESERVED)
})
