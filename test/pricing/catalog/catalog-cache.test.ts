import { expect, test } from 'vitest'
import { CatalogCache } from '../../../src/pricing/catalog/catalog-cache.ts'

const DAY_MS = 86_400_000

function countingCache(capacity: number) {
  const cache = new CatalogCache<{ query: string; fromMs: number; untilMs: number }>(capacity)
  let resolved = 0
  return {
    resolved: () => resolved,
    find: (query: string, atMs: number) =>
      cache.find(query, atMs, () => {
        resolved++
        const fromMs = Math.floor(atMs / DAY_MS) * DAY_MS
        return { query, fromMs, untilMs: fromMs + DAY_MS }
      }),
  }
}

test('a query is resolved once for the time its answer holds', () => {
  const { find, resolved } = countingCache(10)
  for (const atMs of [0, 1, DAY_MS - 1]) expect(find('a', atMs).fromMs).toBe(0)
  expect(resolved()).toBe(1)
  expect(find('a', DAY_MS).fromMs).toBe(DAY_MS)
  expect(resolved()).toBe(2)
})

test('around midnight the old and the new answer serve side by side', () => {
  const { find, resolved } = countingCache(10)
  for (let round = 0; round < 100; round++) {
    expect(find('a', DAY_MS - 1).fromMs).toBe(0)
    expect(find('a', DAY_MS).fromMs).toBe(DAY_MS)
  }
  expect(resolved()).toBe(2)
})

test('what is asked for stays, what is not goes, and no flood of names makes it larger', () => {
  const { find, resolved } = countingCache(100)
  for (let name = 0; name < 10_000; name++) {
    find('asked again and again', 5)
    find(`name ${name}`, 5)
  }
  expect(resolved()).toBe(10_001)
  find('name 0', 5)
  expect(resolved()).toBe(10_002)
})
