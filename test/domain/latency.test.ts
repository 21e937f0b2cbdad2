import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LATENCY_BOUNDS_US, LATENCY_BUCKETS, latencyBucketOf } from '../../src/domain/latency.ts'

test('a latency falls into the first bucket whose bound it does not exceed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (latencyUs) => {
      const first = LATENCY_BOUNDS_US.findIndex((bound) => latencyUs <= bound)
      expect(latencyBucketOf(latencyUs)).toBe(first === -1 ? LATENCY_BUCKETS - 1 : first)
    }),
    { seed: 20_261_126 },
  )
})

test('the bounds rise, from a millisecond to more than half an hour', () => {
  expect(LATENCY_BOUNDS_US.at(0)).toBe(1_000)
  expect(LATENCY_BOUNDS_US.at(-1)).toBeGreaterThan(30 * 60 * 1_000_000)
  expect([...LATENCY_BOUNDS_US].sort((a, b) => a - b)).toEqual(LATENCY_BOUNDS_US)
  for (const [index, bound] of LATENCY_BOUNDS_US.entries())
    expect(bound / (LATENCY_BOUNDS_US[index - 1] ?? bound)).toBeLessThan(1.42)
})
