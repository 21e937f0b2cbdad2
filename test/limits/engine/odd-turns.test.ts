import { expect, test } from 'vitest'
import type { CallCharge } from '../../../src/limits/engine/limiter.ts'
import { heldMemory } from '../../support/memory.ts'
import { admit, callOf, Fleet, held, limitOf, USD } from './fakes.ts'

const CENT = USD / 100n

function charge(costPico: bigint, model = 'm'): CallCharge[] {
  return [{ model, costPico, tokens: 50, cachedTokens: 0 }]
}

test('a call that is settled and released twice counts once', async () => {
  const fleet = new Fleet([
    limitOf('b'),
    limitOf('t', { kind: 'tokens', amount: 1_000n }),
    limitOf('n', { kind: 'concurrent', amount: 2n }),
  ])
  const reservation = held(await admit(fleet.first, callOf()))
  for (let time = 0; time < 2; time += 1) {
    reservation.settle(charge(99n * CENT), 1)
    reservation.release()
  }
  expect(fleet.first.rates(callOf({ model: 'm' })).tokens).toMatchObject({ remaining: 950 })
  expect(fleet.first.rateOf('c', limitOf('n', { kind: 'concurrent', amount: 2n }))).toMatchObject({
    remaining: 2,
  })
  const last = held(await admit(fleet.first, callOf()))
  last.release()
  last.release()
  last.settle(charge(CENT), 2)
  last.settle(charge(CENT), 3)
  expect(fleet.first.rateOf('c', limitOf('n', { kind: 'concurrent', amount: 2n }))).toMatchObject({
    remaining: 2,
  })
  expect(await admit(fleet.first, callOf())).toMatchObject({
    detail: { message: expect.stringContaining('is spent: 1 USD') },
  })
})

test('limits that are lowered and removed while calls run leave nothing behind', async () => {
  const budget = limitOf('b')
  const slots = limitOf('n', { kind: 'concurrent', amount: 3n })
  const fleet = new Fleet([budget, slots])
  const one = held(await admit(fleet.first, callOf({ estimatedPico: 10n * CENT })))
  const two = held(await admit(fleet.first, callOf({ estimatedPico: 10n * CENT })))
  fleet.limits = [
    { ...budget, amount: 5n * CENT },
    { ...slots, amount: 1n },
  ]
  await fleet.pass(300)
  expect(await admit(fleet.first, callOf())).toMatchObject({ reason: 'concurrent' })
  one.settle(charge(6n * CENT), 1)
  one.release()
  fleet.limits = [{ ...budget, amount: 5n * CENT }]
  await fleet.pass(300)
  two.release()
  await fleet.pass(200)
  expect(await admit(fleet.first, callOf())).toMatchObject({ error: 'budget_exceeded' })
  fleet.limits = []
  await fleet.pass(300)
  expect(fleet.first.admit(callOf())).toBeNull()
  fleet.limits = [budget, slots]
  await fleet.pass(300)
  expect(fleet.first.rateOf('c', limitOf('n', { kind: 'concurrent', amount: 3n }))).toMatchObject({
    limit: 3,
    remaining: 3,
  })
  held(await admit(fleet.first, callOf()))
})

test('a Postgres that was restored from before some commits loses nothing of what is spent', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const [one, two] = fleet.gateways
  if (one === undefined || two === undefined) throw new Error('two gateways')
  const row = { clientId: 'c', keyId: 'k', model: 'gpt-4o', day: '2026-11-22' }
  for (let sequence = 1; sequence <= 10; sequence += 1) {
    const call = held(await admit(one, callOf()))
    call.settle(charge(10n * CENT, 'gpt-4o'), sequence)
    call.release()
    if (sequence <= 9) fleet.postgres.commit('p1', sequence, { ...row, pico: 10n * CENT })
    await fleet.pass(400)
  }
  await fleet.pass(5_000)
  expect(await admit(two, callOf())).toMatchObject({ error: 'budget_exceeded' })
  fleet.postgres.rows.splice(4)
  fleet.postgres.offsets.set('p1', 4)
  await fleet.pass(40_000)
  for (const gateway of fleet.gateways)
    expect(await admit(gateway, callOf())).toMatchObject({
      detail: { message: expect.stringContaining('is spent: 1 USD') },
    })
  for (let sequence = 5; sequence <= 10; sequence += 1)
    fleet.postgres.commit('p1', sequence, { ...row, pico: 10n * CENT })
  await fleet.pass(40_000)
  expect(await admit(two, callOf())).toMatchObject({
    detail: { message: expect.stringContaining('is spent: 1 USD') },
  })
})

test('ten thousand models of one client take bounded memory', async () => {
  const fleet = new Fleet([
    limitOf('b', { amount: 1_000n * USD }),
    limitOf('m', { model: 'gpt-*', amount: 1_000n * USD }),
  ])
  held(await admit(fleet.first, callOf())).release()
  const used = async (from: number) => {
    for (let number = from; number < from + 10_000; number += 1) {
      const model = `gpt-${number}`
      const call = held(await admit(fleet.first, callOf({ model, estimatedPico: 1n })))
      call.settle(charge(1n, `${model}-answered`), number + 1)
      call.release()
      fleet.postgres.offsets.set('p1', number + 1)
      if (number % 500 === 0) await fleet.pass(100)
    }
    await fleet.pass(40_000)
    return heldMemory().heapUsed
  }
  await used(0)
  const before = await used(10_000)
  const after = await used(20_000)
  expect(after - before).toBeLessThan(4_000_000)
  expect(fleet.redis.hashes.get('c')?.get('g:gp1')?.length).toBeLessThan(2_000)
})
