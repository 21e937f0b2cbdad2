import { expect, test } from 'vitest'
import { createLog } from '../../../src/lib/log.ts'
import { type RefusalCount, RefusalCounts } from '../../../src/limits/engine/refusal-counts.ts'

const DAY = Date.parse('2030-01-31T12:00:00Z')

function counted(options: { maxKept?: number } = {}) {
  const added: RefusalCount[][] = []
  const world = { isAway: false, nowMs: DAY, added }
  const counts = new RefusalCounts({
    add: async (rows) => {
      if (world.isAway) throw new Error('the store is away')
      added.push(rows.map((row) => ({ ...row })))
    },
    log: createLog('silent', 'test'),
    now: () => world.nowMs,
    intervalMs: 10,
    ...options,
  })
  return { world, counts }
}

test('refusals are added by day, client and reason, each once', async () => {
  const { world, counts } = counted()
  counts.count('a', 'requests')
  counts.count('a', 'requests')
  counts.count('b', 'budget')
  await expect.poll(() => world.added).toHaveLength(1)
  world.nowMs += 86_400_000
  counts.count('a', 'requests')
  await counts.stop()
  expect(world.added).toEqual([
    [
      { day: '2030-01-31', clientId: 'a', reason: 'requests', calls: 2 },
      { day: '2030-01-31', clientId: 'b', reason: 'budget', calls: 1 },
    ],
    [{ day: '2030-02-01', clientId: 'a', reason: 'requests', calls: 1 }],
  ])
  expect([...counts.totals]).toEqual([
    ['requests', 3],
    ['budget', 1],
  ])
})

test('they wait for a store that is away, in memory that has a bound', async () => {
  const { world, counts } = counted({ maxKept: 2 })
  world.isAway = true
  for (let round = 0; round < 3; round++) {
    for (const client of ['a', 'b', 'c']) counts.count(client, 'tokens')
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  world.isAway = false
  await counts.stop()
  expect(world.added.flat()).toEqual([
    { day: '2030-01-31', clientId: 'a', reason: 'tokens', calls: 3 },
    { day: '2030-01-31', clientId: 'b', reason: 'tokens', calls: 3 },
  ])
  expect(counts.totals.get('tokens')).toBe(9)
})
