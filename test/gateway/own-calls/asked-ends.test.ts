import { expect, test } from 'vitest'
import { askEveryMs } from '../../../src/gateway/own-calls/asked-ends.ts'

test.each([
  1, 2, 8, 20, 50, 70,
])('%i processes that clients ask without end send at most ten thousand replies a second', (processes) => {
  const asked = (processes * 1_000) / askEveryMs(processes)
  expect(asked * (processes - 1)).toBeLessThanOrEqual(10_000.1)
})

test('no query waits longer than half a second for its turn, and among few not longer than ten milliseconds', () => {
  expect([1, 8, 10].map(askEveryMs)).toEqual([10, 10, 10])
  expect(askEveryMs(1_000)).toBe(500)
})
