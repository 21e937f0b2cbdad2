import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashLeaf, pathOf, rootBy, rootOf } from '../../src/statements/merkle-tree.ts'

function leaves(count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => hashLeaf(`${index}`))
}

test('each leaf has a path to the root, which no other leaf, place or count has', () => {
  for (const count of [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 21]) {
    const hashes = leaves(count)
    const root = rootOf(hashes)
    for (const [place, leaf] of hashes.entries()) {
      const path = pathOf(hashes, place)
      expect(rootBy(leaf, place, count, path)).toEqual(root)
      expect(rootBy(hashLeaf('other'), place, count, path)).not.toEqual(root)
      for (let at = 0; at < count; at += 1)
        if (at !== place) expect(rootBy(leaf, at, count, path)).not.toEqual(root)
      expect(rootBy(leaf, place, count, [...path, root])).toBeNull()
      if (count > 1) expect(rootBy(leaf, place, count, path.slice(1))).toBeNull()
    }
  }
})

test('the roots of full chunks have the root of the whole', () => {
  for (const count of [1, 4, 5, 8, 9, 31, 64]) {
    const hashes = leaves(count)
    const chunks = Array.from({ length: Math.ceil(count / 4) }, (_, at) => hashes.slice(at * 4, at * 4 + 4))
    expect(rootOf(chunks.map(rootOf))).toEqual(rootOf(hashes))
  }
})

test('the hashes are those of RFC 9162', () => {
  const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  const [left, right] = ['a', 'b'].map((text) => sha256(Buffer.from([0]), Buffer.from(text)))
  if (left === undefined || right === undefined) throw new Error('there are two')
  expect(rootOf([hashLeaf('a'), hashLeaf('b')])).toEqual(sha256(Buffer.from([1]), left, right))
  expect(rootOf([])).toEqual(sha256())
})
