import { expect, test } from 'vitest'
import { BatchSize } from '../../src/rollup/drain/batch-reader.ts'

const FEWEST = 2_000
const MOST = 4_096
const MOST_OF_BACKLOG = 32_768

test('the first transaction takes the fewest entries, as nothing is known yet', () => {
  expect(new BatchSize().entries).toBe(FEWEST)
  expect(new BatchSize(100).entries).toBe(100)
})

test('a batch takes what fits in 150 ms, by how long the last ones took', () => {
  const size = new BatchSize()
  size.took(2_000, 100, false)
  expect(size.entries).toBe(3_000)
})

test('slow transactions make batches smaller, but never so small that rows are written again and again', () => {
  const size = new BatchSize()
  for (let times = 0; times < 50; times += 1) size.took(FEWEST, 60_000, true)
  expect(size.entries).toBe(FEWEST)
})

test('fast transactions make batches larger, up to 4,096 entries while no more wait', () => {
  const size = new BatchSize()
  for (let times = 0; times < 50; times += 1) size.took(FEWEST, 0.1, false)
  expect(size.entries).toBe(MOST)
})

test('under a backlog each batch may be twice the last one, up to 32,768 entries, until no more wait', () => {
  const size = new BatchSize()
  const sizes = Array.from({ length: 5 }, () => {
    size.took(FEWEST, 0.1, true)
    return size.entries
  })
  expect(sizes).toEqual([2 * MOST, 4 * MOST, MOST_OF_BACKLOG, MOST_OF_BACKLOG, MOST_OF_BACKLOG])
  size.took(100, 0.1, false)
  expect(size.entries).toBe(MOST)
})

test('under a backlog a batch takes what fits in 3 s', () => {
  const size = new BatchSize()
  for (let times = 0; times < 5; times += 1) size.took(FEWEST, 300, true)
  expect(size.entries).toBe(20_000)
})

test('one slow transaction among fast ones changes the size by a part only, and not for long', () => {
  const size = new BatchSize()
  for (let times = 0; times < 5; times += 1) size.took(FEWEST, 300, true)
  const usual = size.entries
  size.took(FEWEST, 3_000, true)
  expect(size.entries).toBeLessThan(usual)
  expect(size.entries).toBeGreaterThan(usual / 10)
  for (let times = 0; times < 30; times += 1) size.took(FEWEST, 300, true)
  expect(size.entries).toBeGreaterThan(usual * 0.99)
})

test('the time of a small batch says nothing: it is that of the statements', () => {
  const size = new BatchSize()
  size.took(FEWEST, 100, false)
  const before = size.entries
  size.took(1, 50, false)
  size.took(FEWEST - 1, 10_000, false)
  expect(size.entries).toBe(before)
})
