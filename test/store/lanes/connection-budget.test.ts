import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  ConnectionBudget,
  LANES,
  type LaneName,
  laneCaps,
} from '../../../src/store/connection/lanes/connection-budget.ts'

const LIMIT_MS = 3_000
const TOTALS = [1, 2, 3, 4, 5, 6, 7, 8] as const

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const lane = (name: LaneName) => LANES.indexOf(name)

/** Asks of these lanes, in turn, and says who has a connection. */
function aBudget(total: number) {
  const budget = new ConnectionBudget(total)
  const granted: LaneName[] = []
  const refused: LaneName[] = []
  const ask = async (...names: LaneName[]) => {
    for (const name of names)
      budget.take(lane(name), LIMIT_MS).then(
        () => granted.push(name),
        () => refused.push(name),
      )
    await vi.advanceTimersByTimeAsync(0)
  }
  const give = async (name: LaneName) => {
    budget.give(lane(name))
    await vi.advanceTimersByTimeAsync(0)
  }
  return { budget, granted, refused, ask, give }
}

const many = (name: LaneName) => Array.from({ length: 20 }, () => name)

test.each(
  TOTALS.filter((total) => total >= 4),
)('of %i connections, polls, limits and objects find one each however much the less urgent ask', async (total) => {
  for (const urgent of ['polls', 'limits', 'objects'] as const) {
    const { ask, granted } = aBudget(total)
    const slower = LANES.slice(lane(urgent) + 1)
    await ask(...slower.toReversed().flatMap(many))
    const before = granted.length
    await ask(urgent)
    // Two slow queries of clients may hold what objects share with them, in a share of four.
    expect(granted.slice(before)).toEqual(total === 4 && urgent === 'objects' ? [] : [urgent])
  }
})

test.each(
  TOTALS,
)('of %i connections never more are held than there are, nor by a lane than it may', async (total) => {
  const caps = laneCaps(total)
  for (let first = 0; first < LANES.length; first += 1) {
    const { ask, granted, budget } = aBudget(total)
    await ask(...LANES.slice(first).flatMap(many))
    expect(granted).toHaveLength(caps[first] ?? 0)
    expect(budget.held).toBe(caps[first])
  }
  expect(caps.toSorted((a, b) => b - a)).toEqual(caps)
})

test('what comes back goes to the most urgent that waits, in the order of asking', async () => {
  const { ask, give, granted } = aBudget(4)
  await ask('polls', 'polls', 'polls', 'polls')
  granted.length = 0
  await ask('reports', 'usage', 'objects', 'limits', 'polls')
  for (let back = 0; back < 4; back += 1) await give('polls')
  expect(granted).toEqual(['polls', 'limits', 'objects', 'usage'])
})

test('clients that ask without end leave operators one connection, and operators leave clients one', async () => {
  const { ask, give, granted } = aBudget(8)
  await ask(...many('usage'))
  expect(granted).toEqual(['usage', 'usage', 'usage', 'usage'])
  await ask('reports', 'reports')
  await give('usage')
  expect(granted.slice(4)).toEqual(['reports'])
  await give('usage')
  expect(granted.slice(5)).toEqual(['usage'])
})

test('who waits too long is refused as by the driver, and keeps none from the others', async () => {
  const { ask, give, granted, refused, budget } = aBudget(4)
  await ask('usage', 'usage', 'reports', 'usage')
  await vi.advanceTimersByTimeAsync(LIMIT_MS)
  expect(refused).toEqual(['reports', 'usage'])
  await expect(budget.take(lane('polls'), LIMIT_MS)).resolves.toBeUndefined()
  await give('usage')
  await ask('usage')
  expect(granted).toEqual(['usage', 'usage', 'usage'])
  const late = budget.take(lane('reports'), LIMIT_MS)
  await Promise.all([
    expect(late).rejects.toThrow('timeout exceeded when trying to connect'),
    vi.advanceTimersByTimeAsync(LIMIT_MS),
  ])
})

test('a smaller number holds from then on, for what comes back too', async () => {
  const { ask, give, granted, budget } = aBudget(8)
  await ask(...Array.from({ length: 8 }, () => 'polls' as const))
  budget.total = 4
  await ask('polls')
  for (let back = 0; back < 4; back += 1) await give('polls')
  expect(granted).toHaveLength(8)
  await give('polls')
  expect(granted).toHaveLength(9)
})
