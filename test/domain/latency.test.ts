import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LATENCY_BOUNDS_US, LATENCY_BUCKETS, latencyAtUs, latencyBucketOf } from '../../src/domain/latency.ts'

test('a latency falls into the first bucket whose bound it does not exceed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (latencyUs) => {
      const first = LATENCY_BOUNDS_US.findIndex((bound) => latencyUs <= bound)
      expect(latencyBucketOf(latencyUs)).toBe(first === -1 ? LATENCY_BUCKETS - 1 : first)
    }),
  )
})

test('the bounds rise, from a millisecond to more than half an hour', () => {
  expect(LATENCY_BOUNDS_US.at(0)).toBe(1_000)
  expect(LATENCY_BOUNDS_US.at(-1)).toBeGreaterThan(30 * 60 * 1_000_000)
  expect([...LATENCY_BOUNDS_US].sort((a, b) => a - b)).toEqual(LATENCY_BOUNDS_US)
})

test('a percentile is within a step of the true one, and null without calls', () => {
  const buckets = new Array<bigint>(LATENCY_BUCKETS).fill(0n)
  expect(latencyAtUs(buckets, 0.5)).toBeNull()
  const latencies = Array.from({ length: 1_000 }, (_, index) => (index + 1) * 1_000)
  for (const latencyUs of latencies) {
    const bucket = latencyBucketOf(latencyUs)
    buckets[bucket] = (buckets[bucket] ?? 0n) + 1n
  }
  for (const share of [0.5, 0.9, 0.99]) {
    const exact = latencies[Math.ceil(1_000 * share) - 1] ?? 0
    const read = latencyAtUs(buckets, share) ?? 0
    expect(read).toBeGreaterThanOrEqual(exact)
    expect(read).toBeLessThan(exact * 1.42)
  }
})
