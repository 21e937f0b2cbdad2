import { expect, test } from 'vitest'
import { LimitReplay } from '../../src/limits/replay/limit-replay.ts'
import { randomOf } from '../model/faults/random.ts'
import { rounds } from '../support/rounds.ts'
import { limitOf } from './engine/fakes.ts'
import { enforced, randomLimit, randomMonth } from './simulated-months.ts'

const MONTHS = rounds({ short: 12, long: 100 })

test('on simulated months a replay refuses the calls that a gateway refuses', async () => {
  let refusals = 0
  for (let seed = 1; seed <= MONTHS; seed += 1) {
    const random = randomOf(seed)
    const limit = randomLimit(random)
    const calls = randomMonth(random)
    const replay = new LimitReplay(limit)
    const refused = calls.flatMap((call, index) =>
      replay.covers(call) && !replay.admits(call) ? [index] : [],
    )
    expect({ seed, limit, refused }).toEqual({ seed, limit, refused: await enforced(limit, calls) })
    refusals += refused.length
  }
  expect(refusals).toBeGreaterThan(10 * MONTHS)
})

test('a call of a model without a price is refused by a budget that says so, and one of a job is only counted', () => {
  const [call] = randomMonth(randomOf(1))
  if (call === undefined) throw new Error('no call')
  const unpriced = { ...call, costPico: null, isUnpriced: true }
  expect(new LimitReplay(limitOf('1')).admits(unpriced)).toBe(false)
  expect(new LimitReplay(limitOf('1', { allowsUnpriced: true })).admits(unpriced)).toBe(true)
  const replay = new LimitReplay(limitOf('1', { amount: 1_000n }))
  expect(replay.admits({ ...call, costPico: 5_000n, isSettlement: true })).toBe(true)
  expect(replay.admits({ ...call, costPico: 1n })).toBe(false)
})

test('what was spent before counts in the period of the first day alone', () => {
  const [call] = randomMonth(randomOf(1))
  if (call === undefined) throw new Error('no call')
  const limit = limitOf('1', { per: 'month', amount: 1_000n })
  const replay = new LimitReplay(limit, 1_000n, '2026-11-05')
  expect(replay.admits({ ...call, costPico: 1n })).toBe(false)
  expect(replay.admits({ ...call, arrivedAtMs: Date.UTC(2026, 11, 1), costPico: 1n })).toBe(true)
})
