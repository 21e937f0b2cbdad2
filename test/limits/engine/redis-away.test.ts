import { expect, test } from 'vitest'
import { LimitTable } from '../../../src/limits/directory/limit-table.ts'
import type { LimitEngine } from '../../../src/limits/engine/limit-engine.ts'
import { type Answer, admit, callOf, Fleet, held, limitOf, settled, USD } from './fakes.ts'

const CENT = USD / 100n
const REFUSED_ALONE = {
  error: 'rate_limit_exceeded',
  reason: 'reserved',
  detail: { message: expect.stringContaining('cannot be asked for now'), headers: { 'retry-after': '5' } },
}

/** What the gateways spend until each of them refuses or has a call wait, in cents. */
async function spendAll(fleet: Fleet, sequences: number[], gateways = fleet.gateways): Promise<number> {
  let spent = 0
  for (const gateway of gateways)
    for (let calls = 0; calls < 400; calls += 1) {
      const client = { destroyed: false }
      const answer = await admit(gateway, callOf({ estimatedPico: CENT, client }))
      client.destroyed = true
      if (answer === null || answer === undefined || 'error' in answer) break
      const at = fleet.gateways.indexOf(gateway)
      sequences[at] = (sequences[at] ?? 0) + 1
      answer.settle([{ model: 'm', costPico: CENT, tokens: 1, cachedTokens: 0 }], sequences[at] ?? 0)
      answer.release()
      spent += 1
    }
  return spent
}

/** Four gateways that have spent 5 cents each, one after the other: 80 are left. */
async function fleetWithUse(sequences: number[], whenAlone: 'refuse' | 'share' = 'refuse'): Promise<Fleet> {
  const fleet = new Fleet([limitOf('b', { whenAlone })], 4)
  for (let round = 1; round <= 5; round += 1)
    for (const [at, gateway] of fleet.gateways.entries()) {
      const answer = await within(fleet, gateway, CENT)
      held(answer).settle([{ model: 'm', costPico: CENT, tokens: 1, cachedTokens: 0 }], round)
      held(answer).release()
      sequences[at] = round
      await fleet.pass(100)
    }
  return fleet
}

/** What becomes of a call within 6 s. */
async function within(fleet: Fleet, gateway: LimitEngine, pico: bigint, axes?: string): Promise<Answer> {
  let answer: Answer
  void Promise.resolve(gateway.admit(callOf({ estimatedPico: pico, axes }))).then((value) => {
    answer = value
  })
  await settled()
  for (let waitedMs = 0; answer === undefined && waitedMs < 6_000; waitedMs += 100) await fleet.pass(100)
  return answer
}

function two({ gateways }: Fleet): readonly [LimitEngine, LimitEngine] {
  const [one, other] = gateways
  if (one === undefined || other === undefined) throw new Error('two gateways')
  return [one, other]
}

test('with Redis away gateways spend what they were granted before, wait for nothing, and then refuse', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences)
  fleet.redis.isAway = true
  const spent = await spendAll(fleet, sequences)
  expect(spent).toBeGreaterThan(15)
  expect(spent).toBeLessThanOrEqual(80)
  await fleet.pass(60_000)
  expect(await spendAll(fleet, sequences)).toBe(0)
  expect(await within(fleet, fleet.first, CENT)).toMatchObject(REFUSED_ALONE)
  fleet.redis.isAway = false
  let rest = 0
  for (let round = 0; round < 40; round += 1) {
    rest += await spendAll(fleet, sequences)
    await fleet.pass(500)
  }
  expect(spent + rest).toBe(80)
  expect(await within(fleet, fleet.first, CENT)).toMatchObject({ error: 'budget_exceeded' })
})

test('what was granted can be spent after a minute without Redis as well', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences)
  fleet.redis.isAway = true
  await fleet.pass(60_000)
  expect(await spendAll(fleet, sequences)).toBeGreaterThan(15)
})

test.each([
  'refuse',
  'share',
] as const)('a Redis that comes and goes, but tells nothing, gives nothing twice (%s)', async (whenAlone) => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences, whenAlone)
  let spent = 0
  fleet.redis.isHalfAway = true
  for (let absence = 0; absence < 20; absence += 1) {
    fleet.redis.isAway = absence % 2 === 0
    await fleet.pass(1_500)
    spent += await spendAll(fleet, sequences)
  }
  expect(spent).toBeLessThanOrEqual(whenAlone === 'refuse' ? 80 : 100)
})

test('a budget that says so is spent in even parts while Redis is away', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences, 'share')
  fleet.redis.isAway = true
  await fleet.pass(2_000)
  const spent = await spendAll(fleet, sequences)
  expect(spent).toBeGreaterThan(70)
  expect(spent).toBeLessThanOrEqual(100)
})

test('what a budget is raised by while Redis is away is for those that go on alone', async () => {
  for (const whenAlone of ['refuse', 'share'] as const) {
    const sequences: number[] = []
    const fleet = await fleetWithUse(sequences, whenAlone)
    fleet.redis.isAway = true
    await fleet.pass(2_000)
    await spendAll(fleet, sequences)
    fleet.limits = [limitOf('b', { whenAlone, amount: 2n * USD })]
    await fleet.pass(200)
    const more = await spendAll(fleet, sequences)
    if (whenAlone === 'refuse') expect(more).toBe(0)
    else expect(more).toBeGreaterThan(90)
    expect(more).toBeLessThanOrEqual(104)
  }
})

test('of a budget that is lowered while Redis is away less may be spent at once', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences)
  fleet.redis.isAway = true
  fleet.limits = [limitOf('b', { amount: 21n * CENT })]
  await fleet.pass(200)
  expect(await spendAll(fleet, sequences)).toBe(0)
})

test('of what was never known nothing passes, unless the budget says that a gateway goes on alone', async () => {
  for (const whenAlone of ['refuse', 'share'] as const) {
    const fleet = new Fleet([limitOf('b', { whenAlone })])
    fleet.redis.isAway = true
    fleet.postgres.isAway = true
    const answer = await within(fleet, fleet.first, CENT)
    if (whenAlone === 'refuse') expect(answer).toMatchObject(REFUSED_ALONE)
    else held(answer)
  }
})

test('a budget that begins while Redis is away has nothing granted, and all of it once Redis is back', async () => {
  const fleet = new Fleet([limitOf('b')])
  held(await admit(fleet.first, callOf({ estimatedPico: CENT }))).release()
  fleet.redis.isAway = true
  await fleet.pass(3_000)
  fleet.limits = [limitOf('c')]
  await fleet.pass(200)
  expect(await within(fleet, fleet.first, CENT)).toMatchObject(REFUSED_ALONE)
  fleet.redis.isAway = false
  held(await within(fleet, fleet.first, CENT))
})

test('after kill -9 what a gateway held is free within 5 s, and the calls that wait for it pass', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const [one, other] = two(fleet)
  held(await admit(one, callOf({ estimatedPico: 90n * CENT })))
  await fleet.pass(3_000)
  held(await within(fleet, other, CENT)).release()
  fleet.kill(one)
  held(await within(fleet, other, 80n * CENT))
})

test('a gateway that stands still keeps what it holds', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const [one, other] = two(fleet)
  held(await admit(one, callOf({ estimatedPico: 90n * CENT })))
  await fleet.pass(1_000)
  fleet.standsStill.add(one)
  await fleet.pass(15_000)
  expect(await within(fleet, other, 80n * CENT)).toMatchObject({ reason: 'reserved' })
  await fleet.pass(25_000)
  held(await within(fleet, other, 80n * CENT))
})

test('a gateway that alone cannot reach Redis keeps what it holds, and no more is spent in all', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences)
  const [one, ...others] = fleet.gateways
  if (one === undefined) throw new Error('no gateway')
  fleet.cutOff.add('gp1')
  fleet.closed.add('gp1')
  let spent = 0
  for (let round = 0; round < 40; round += 1) {
    await fleet.pass(1_000)
    spent += await spendAll(fleet, sequences, others)
  }
  expect(spent).toBeGreaterThan(40)
  const ofOne = await spendAll(fleet, sequences, [one])
  expect(ofOne).toBeGreaterThan(2)
  expect(spent + ofOne).toBeLessThanOrEqual(80)
})

test('a gateway that reaches no store spends nothing more, as the others have its share', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences)
  const [one, ...others] = fleet.gateways
  if (one === undefined) throw new Error('no gateway')
  fleet.cutOff.add('gp1')
  fleet.closed.add('gp1')
  fleet.withoutPostgres.add('gp1')
  let spent = 0
  for (let round = 0; round < 40; round += 1) {
    await fleet.pass(1_000)
    spent += await spendAll(fleet, sequences, others)
  }
  expect(spent).toBe(80)
  expect(await spendAll(fleet, sequences, [one])).toBe(0)
})

test('a gateway that starts as Redis is flushed takes nothing before the others have said what they hold', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const [one, other] = two(fleet)
  held(await admit(one, callOf({ estimatedPico: 60n * CENT })))
  held(await within(fleet, other, 30n * CENT))
  await fleet.pass(2_000)
  fleet.redis.flush()
  const third = fleet.start('p3', true)
  expect(await within(fleet, third, 20n * CENT)).toMatchObject({ reason: 'reserved' })
  held(await within(fleet, third, 5n * CENT))
})

test("a Redis that drops a client's hash alone, as one that evicts keys does, gives nothing twice", async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const [one, other] = two(fleet)
  for (const gateway of [one, other]) held(await within(fleet, gateway, CENT)).release()
  await fleet.pass(1_000)
  held(await admit(other, callOf({ estimatedPico: 60n * CENT })))
  fleet.redis.hashes.clear()
  expect(await within(fleet, one, 50n * CENT)).toMatchObject({ error: expect.any(String) })
  held(await within(fleet, one, 30n * CENT))
})

test('what is not counted of a user without calls is reported again after FLUSHALL, though calls go on', async () => {
  const table = new LimitTable()
  table.update([{ id: 'each', limit: limitOf('each', { axis: 'user' }) }])
  const fleet = new Fleet([limitOf('b', { amount: 100n * USD })], 2)
  fleet.others = table.others
  const [one, other] = two(fleet)
  const ofAnn = held(await within(fleet, one, CENT, 'user=ann'))
  ofAnn.settle([{ model: 'm', costPico: USD, tokens: 1, cachedTokens: 0 }], 1)
  ofAnn.release()
  await fleet.pass(5_000)
  fleet.redis.flush()
  for (let calls = 0; calls < 3; calls += 1) held(await within(fleet, one, CENT, 'user=bob')).release()
  await fleet.pass(3_000)
  expect(await within(fleet, other, CENT, 'user=ann')).toMatchObject({ error: 'budget_exceeded' })
})

test('where answers come too late for a call with room, its refusal does not say that running calls hold the rest', async () => {
  const fleet = new Fleet([limitOf('b')])
  // None takes the 2 s after which Redis is away. A client that is new needs three.
  fleet.redis.answersAfterMs = 1_700
  expect(await within(fleet, fleet.first, CENT)).toMatchObject(REFUSED_ALONE)
  held(await within(fleet, fleet.first, 40n * CENT))
  fleet.redis.answersAfterMs = 0
  await fleet.pass(3_000)
  expect(await within(fleet, fleet.first, 70n * CENT)).toMatchObject({
    reason: 'reserved',
    detail: { message: expect.stringContaining('running hold the rest'), headers: { 'retry-after': '1' } },
  })
})

test('a call that has waited for 5 s as Redis comes back passes, once an exchange has said that it may', async () => {
  const fleet = new Fleet([limitOf('b')])
  held(await within(fleet, fleet.first, CENT)).release()
  await fleet.pass(5_000)
  fleet.redis.isAway = true
  const answer = Promise.resolve(fleet.first.admit(callOf({ estimatedPico: 60n * CENT })))
  await fleet.pass(3_900)
  fleet.redis.answersAfterMs = 1_500
  fleet.redis.isAway = false
  await fleet.pass(4_000)
  held(await answer)
})

test('requests of the last minute are reported again after FLUSHALL, though no more of them come', async () => {
  const fleet = new Fleet([limitOf('r', { kind: 'requests', amount: 2n })], 2)
  const [one, other] = two(fleet)
  for (const sequence of [1, 2]) {
    const call = held(await admit(one, callOf()))
    call.settle([], sequence)
    call.release()
  }
  await fleet.pass(5_000)
  fleet.redis.flush()
  await fleet.pass(3_000)
  expect(await within(fleet, other, CENT)).toMatchObject({ reason: 'requests' })
})

test('after FLUSHALL no more than some hundred quiet users are reported with each tick, and all of them in time', async () => {
  const limits = [limitOf('r', { kind: 'requests', amount: 2n, axis: 'user', value: null })]
  const table = new LimitTable(() => [])
  table.beginReading()
  table.update(limits.map((limit) => ({ id: limit.id, limit })))
  table.endReading()
  const fleet = new Fleet([])
  fleet.others = table.others
  fleet.mostValues = 5_000
  for (let user = 1; user <= 1_500; user += 1) {
    const call = held(await admit(fleet.first, callOf({ axes: `user=u${user}` })))
    call.settle([], user)
    call.release()
  }
  await fleet.pass(5_000)
  fleet.redis.flush()
  let most = 0
  for (let ticks = 0; ticks < 30; ticks += 1) {
    const before = fleet.redis.exchanges
    await fleet.pass(100)
    most = Math.max(most, fleet.redis.exchanges - before)
  }
  expect(fleet.redis.hashes.size).toBe(1_500)
  expect(most).toBeGreaterThan(0)
  // Each is exchanged once more where Redis holds nothing of what it had.
  expect(most).toBeLessThanOrEqual(400)
})
