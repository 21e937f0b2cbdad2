import { expect, test } from 'vitest'
import {
  CROWDED_ENTRIES,
  crowdedFrom,
  ENTRY_BYTES,
  mostStreamBytes,
} from '../../../../src/ledger/shipping/stream/stream-register.ts'

const MIB = 1_048_576

test('a Redis without a limit, or that does not show it, holds as many entries a stream as any worker can use', () => {
  expect(crowdedFrom(null, 8)).toBe(CROWDED_ENTRIES)
  expect(crowdedFrom({ usedBytes: 10 ** 12, maxBytes: null }, 8)).toBe(CROWDED_ENTRIES)
  expect(crowdedFrom({ usedBytes: 0, maxBytes: 10 ** 12 }, 8)).toBe(CROWDED_ENTRIES)
})

test('all streams together take half of the memory that is free, and none once it is full', () => {
  for (const streams of [1, 4, 8]) {
    const entries = crowdedFrom({ usedBytes: 20 * MIB, maxBytes: 60 * MIB }, streams)
    expect(entries * streams * ENTRY_BYTES).toBeLessThanOrEqual(20 * MIB)
    expect((entries + 1) * streams * ENTRY_BYTES).toBeGreaterThan(20 * MIB)
  }
  expect(crowdedFrom({ usedBytes: 60 * MIB, maxBytes: 60 * MIB }, 1)).toBe(0)
  expect(crowdedFrom({ usedBytes: 61 * MIB, maxBytes: 60 * MIB }, 1)).toBe(0)
})

test('what streams take grows with them, and with producers by one batch each', () => {
  expect(mostStreamBytes(1, 0, 500)).toBe(CROWDED_ENTRIES * ENTRY_BYTES)
  expect(mostStreamBytes(4, 8, 500)).toBe(4 * (CROWDED_ENTRIES + 8 * 500) * ENTRY_BYTES)
})
