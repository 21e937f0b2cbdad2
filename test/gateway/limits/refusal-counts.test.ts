import { expect, test } from 'vitest'
import { createLog } from '../../../src/lib/log.ts'
import {
  type RefusalCount,
  RefusalCounts,
  type RefusedCall,
} from '../../../src/limits/engine/refusal-counts.ts'

const of = (clientId: string, reason: string, more: Partial<RefusedCall> = {}): RefusedCall => ({
  clientId,
  keyId: 'key',
  model: 'gpt-4o',
  limitId: '1',
  reason,
  ...more,
})

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

test('refusals are added by day, client, key, model, limit and reason, each once', async () => {
  const { world, counts } = counted()
  counts.count(of('a', 'requests'))
  counts.count(of('a', 'requests'))
  counts.count(of('b', 'budget'))
  await expect.poll(() => world.added).toHaveLength(1)
  world.nowMs += 86_400_000
  counts.count(of('a', 'requests'))
  await counts.stop()
  expect(world.added).toEqual([
    [
      { day: '2030-01-31', ...of('a', 'requests'), calls: 2 },
      { day: '2030-01-31', ...of('b', 'budget'), calls: 1 },
    ],
    [{ day: '2030-02-01', ...of('a', 'requests'), calls: 1 }],
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
    for (const client of ['a', 'b', 'c']) counts.count(of(client, 'tokens'))
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  world.isAway = false
  await counts.stop()
  expect(world.added.flat()).toEqual([
    { day: '2030-01-31', ...of('a', 'tokens'), calls: 3 },
    { day: '2030-01-31', ...of('b', 'tokens'), calls: 3 },
  ])
  expect(counts.totals.get('tokens')).toBe(9)
})

test('wrong, revoked and expired keys are counted, by key where it is known, and are in no total of clients', async () => {
  const { world, counts } = counted()
  counts.countUnknown('unknown_key', null)
  counts.countUnknown('unknown_key', null)
  counts.countUnknown('key_revoked', { clientId: 'a', keyId: 'key_old' })
  await counts.stop()
  const unnamed = { clientId: '', keyId: '', model: '', limitId: '' }
  expect(world.added.flat()).toEqual([
    { day: '2030-01-31', ...unnamed, reason: 'unknown_key', calls: 2 },
    { day: '2030-01-31', ...unnamed, clientId: 'a', keyId: 'key_old', reason: 'key_revoked', calls: 1 },
  ])
  expect([...counts.totals]).toEqual([])
})

test('a client that makes up names of models makes no more rows than 51 a day, key, limit and reason', async () => {
  const { world, counts } = counted()
  for (let n = 0; n < 500; n += 1) counts.count(of('a', 'model_not_found', { model: `made up ${n}` }))
  await counts.stop()
  const rows = world.added.flat()
  expect(rows).toHaveLength(51)
  expect(rows.find(({ model }) => model === '(other)')?.calls).toBe(450)
})
