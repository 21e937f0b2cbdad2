import { expect, test } from 'vitest'
import { RecordedCosts } from '../../../src/limits/engine/budget-account.ts'
import { SlidingWindow, usedByAge } from '../../../src/limits/engine/sliding-window.ts'

test('use counts for a minute and is over within a quarter of a second after it', () => {
  const window = new SlidingWindow()
  window.add(1_100, 3)
  expect(window.used(61_099)).toBe(3)
  expect(window.used(61_250)).toBe(0)
  expect(window.resetMs(61_250)).toBe(0)
})

test('a use is corrected in its own time, and not at all once that is over', () => {
  const window = new SlidingWindow()
  const bucket = window.add(0, 1_000)
  window.add(30_000, 5)
  window.correct(bucket, -900)
  expect(window.used(30_000)).toBe(105)
  expect(window.used(60_500)).toBe(5)
  window.correct(bucket, -900)
  expect(window.used(60_500)).toBe(5)
})

test('a window never differs from a list of all uses by more than its newest and oldest quarter second', () => {
  const window = new SlidingWindow()
  const uses: { readonly atMs: number; readonly amount: number }[] = []
  let nowMs = 0
  for (let step = 0; step < 20_000; step += 1) {
    nowMs += (step * 7_919) % 97
    const amount = (step * 104_729) % 13
    window.add(nowMs, amount)
    uses.push({ atMs: nowMs, amount })
    if (step % 50 > 0) continue
    const within = (ms: number) =>
      uses.filter(({ atMs }) => atMs > nowMs - ms).reduce((sum, use) => sum + use.amount, 0)
    expect(window.used(nowMs)).toBeGreaterThanOrEqual(within(60_000))
    expect(window.used(nowMs)).toBeLessThanOrEqual(within(60_251))
    const steps = window.byAge(nowMs)
    expect(usedByAge(steps, 0)).toBe(window.used(nowMs))
    expect(usedByAge(steps, 60_000)).toBe(0)
  }
})

test('the time until so much is free is the time of the uses that free it', () => {
  const window = new SlidingWindow()
  window.add(0, 2)
  window.add(10_000, 2)
  expect(window.freesMs(1, 20_000)).toBe(40_250)
  expect(window.freesMs(3, 20_000)).toBe(50_250)
  expect(window.freesMs(5, 20_000)).toBeNull()
})

test('what was counted at a committed offset is exact, whatever order records come in', () => {
  const costs = new RecordedCosts()
  for (const sequence of [1, 2, 5, 3, 8, 4]) costs.add(sequence, BigInt(10 ** sequence))
  expect(costs.upTo(0)).toBe(0n)
  expect(costs.upTo(4)).toBe(11_110n)
  costs.drop(4)
  expect(costs.size).toBe(2)
  expect(costs.upTo(3)).toBeNull()
  expect(costs.upTo(7)).toBe(111_110n)
  costs.add(2, 7n)
  expect(costs.upTo(4)).toBe(11_117n)
})

test('what was counted takes no memory', () => {
  const costs = new RecordedCosts()
  for (let sequence = 1; sequence <= 100_000; sequence += 1) {
    costs.add(sequence, 1n)
    if (sequence % 100 === 0) costs.drop(sequence - 10)
  }
  expect(costs.size).toBe(10)
  expect(costs.upTo(100_000)).toBe(100_000n)
})
