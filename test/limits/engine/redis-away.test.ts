import { expect, test } from 'vitest'
import { admit, callOf, Fleet, held, limitOf, USD } from './fakes.ts'

const CENT = USD / 100n

/** What the gateways spend until each of them refuses, in cents. */
async function spendAll(fleet: Fleet, sequences: number[]): Promise<number> {
  let spent = 0
  for (const [at, gateway] of fleet.gateways.entries())
    for (let calls = 0; calls < 400; calls += 1) {
      const answer = await admit(gateway, callOf({ estimatedPico: CENT }))
      if (answer === null || answer === undefined || 'error' in answer) break
      sequences[at] = (sequences[at] ?? 0) + 1
      answer.settle([{ model: 'm', costPico: CENT, tokens: 1, cachedTokens: 0 }], sequences[at] ?? 0)
      answer.release()
      spent += 1
    }
  return spent
}

async function fleetWithUse(sequences: number[]): Promise<Fleet> {
  const fleet = new Fleet([limitOf('b')], 4)
  for (const [at, gateway] of fleet.gateways.entries()) {
    const reservation = held(await admit(gateway, callOf({ estimatedPico: CENT })))
    reservation.settle([{ model: 'm', costPico: 5n * CENT, tokens: 1, cachedTokens: 0 }], 1)
    reservation.release()
    sequences[at] = 1
  }
  await fleet.pass(3_000)
  return fleet
}

test('with Redis away all gateways together spend at most twice what was left', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences)
  fleet.redis.isAway = true
  await fleet.pass(2_000)
  const spent = await spendAll(fleet, sequences)
  expect(spent).toBeGreaterThan(80)
  expect(spent).toBeLessThanOrEqual(160)
  await fleet.pass(20_000)
  expect(await spendAll(fleet, sequences)).toBe(0)
})

test('a Redis that comes and goes, but tells nothing, gives no second share', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences)
  let spent = 0
  for (let absence = 0; absence < 20; absence += 1) {
    fleet.redis.isAway = absence % 2 === 0
    fleet.redis.isHalfAway = true
    await fleet.pass(1_500)
    spent += await spendAll(fleet, sequences)
  }
  expect(spent).toBeLessThanOrEqual(160)
  fleet.redis.isAway = false
  fleet.redis.isHalfAway = false
  await fleet.pass(5_000)
  expect(await spendAll(fleet, sequences)).toBe(0)
})

test('a limit that is raised while Redis is away holds as it is raised', async () => {
  const sequences: number[] = []
  const fleet = await fleetWithUse(sequences)
  fleet.redis.isAway = true
  await fleet.pass(2_000)
  await spendAll(fleet, sequences)
  fleet.limits = [limitOf('b', { amount: 2n * USD })]
  await fleet.pass(200)
  const more = await spendAll(fleet, sequences)
  expect(more).toBeGreaterThan(90)
  expect(more).toBeLessThanOrEqual(200)
})
