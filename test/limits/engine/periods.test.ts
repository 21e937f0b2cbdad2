import { expect, test } from 'vitest'
import { LimitTable } from '../../../src/limits/directory/limit-table.ts'
import type { CallToLimit } from '../../../src/limits/engine/limiter.ts'
import { admit, callOf, Fleet, held, limitOf, USD } from './fakes.ts'

const CENT = USD / 100n
const SPENT = {
  error: 'budget_exceeded',
  detail: { message: expect.stringContaining('is spent: 1 USD') },
}

/** A day that began ten minutes ago. */
function fleetAfterMidnight(): Fleet {
  const fleet = new Fleet([], 2)
  fleet.clock.wallMs = Date.UTC(2026, 10, 22, 0, 10)
  return fleet
}

/** One call, which Postgres has counted. */
async function spend(fleet: Fleet, call: CallToLimit): Promise<void> {
  const reservation = held(await admit(fleet.first, call))
  reservation.settle([{ model: 'gpt-4o', costPico: USD, tokens: 10, cachedTokens: 0 }], 1)
  reservation.release()
  const { clientId, keyId, axes = '' } = call
  const row = { clientId, keyId, axes, model: 'gpt-4o', day: '2026-11-22', pico: USD }
  fleet.postgres.commit('p1', 1, row)
}

test('a user who has spent the budget of a day has it not again after minutes without a call', async () => {
  const fleet = fleetAfterMidnight()
  const table = new LimitTable()
  table.update([{ id: 'each', limit: limitOf('each', { axis: 'user' }) }])
  fleet.others = table.others
  const call = () => callOf({ axes: 'user=ann', arrivedAtMs: fleet.clock.wallMs })
  await spend(fleet, call())
  await fleet.pass(300_000)
  // Redis keeps what is counted of a value for two minutes.
  fleet.redis.hashes.clear()
  const answers = Array.from({ length: 20 }, () => admit(fleet.first, call()))
  for (const answer of await Promise.all(answers)) expect(answer).toMatchObject(SPENT)
})

test('a client that has spent the budget of a day has it not again after Redis was flushed', async () => {
  const fleet = fleetAfterMidnight()
  fleet.limits = [limitOf('b')]
  const call = () => callOf({ arrivedAtMs: fleet.clock.wallMs })
  await spend(fleet, call())
  await fleet.pass(120_000)
  fleet.redis.flush()
  await fleet.pass(10_000)
  for (const gateway of fleet.gateways) expect(await admit(gateway, call())).toMatchObject(SPENT)
})

test('a period goes on after a clock that was ahead is set back', async () => {
  const fleet = new Fleet([limitOf('b')])
  const call = () => callOf({ arrivedAtMs: fleet.clock.wallMs, estimatedPico: CENT })
  held(await admit(fleet.first, call())).release()
  await fleet.pass(5_000)
  fleet.clock.wallMs += 20 * 3_600_000
  await fleet.pass(5_000)
  fleet.clock.wallMs -= 20 * 3_600_000
  await fleet.pass(2_000)
  await spend(fleet, call())
  expect(await admit(fleet.first, call())).toMatchObject(SPENT)
})
