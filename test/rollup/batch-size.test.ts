import { expect, test } from 'vitest'
import { BatchSize } from '../../src/rollup/drain/batch-reader.ts'
import { MAX_TOTALLED } from '../../src/usage/total-by-day.ts'

const FEWEST = 2_000

test('the first transaction takes the fewest entries, as nothing is known yet', () => {
  expect(new BatchSize().entries).toBe(FEWEST)
  expect(new BatchSize(100).entries).toBe(100)
})

test('a batch takes what fits in 150 ms, by how long the last ones took', () => {
  const size = new BatchSize()
  size.took(2_000, 60)
  expect(size.entries).toBe(Math.min(5_000, MAX_TOTALLED))
})

test('slow transactions make batches smaller, but never so small that rows are written again and again', () => {
  const size = new BatchSize()
  for (let times = 0; times < 50; times += 1) size.took(FEWEST, 60_000)
  expect(size.entries).toBe(FEWEST)
})

test('fast transactions make batches larger, but never larger than what is totalled at once', () => {
  const size = new BatchSize()
  for (let times = 0; times < 50; times += 1) size.took(FEWEST, 0.1)
  expect(size.entries).toBe(MAX_TOTALLED)
})

test('one slow transaction among fast ones changes the size by a part only, and not for long', () => {
  const size = new BatchSize(1_000_000)
  size.took(FEWEST, 20)
  const usual = size.entries
  expect(usual).toBe(15_000)
  size.took(FEWEST, 200)
  expect(size.entries).toBeLessThan(usual)
  expect(size.entries).toBeGreaterThan(usual / 10)
  for (let times = 0; times < 30; times += 1) size.took(FEWEST, 20)
  expect(size.entries).toBeGreaterThan(usual * 0.99)
})

test('the time of a small batch says nothing: it is that of the statements', () => {
  const size = new BatchSize()
  size.took(FEWEST, 60)
  const before = size.entries
  size.took(1, 50)
  size.took(FEWEST - 1, 10_000)
  expect(size.entries).toBe(before)
})
