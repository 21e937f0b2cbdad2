import { createHash } from 'node:crypto'

/**
 * The tree of RFC 9162, section 2.1: a leaf is hashed behind a 0, two halves behind a 1, and the left half is the
 * largest power of two. So no leaf can pass for a half, and no shorter list has the same root.
 */
export function hashLeaf(text: string): Buffer {
  return createHash('sha256').update(LEAF).update(text).digest()
}

const LEAF = Buffer.from([0])
const HALVES = Buffer.from([1])

function hashHalves(left: Buffer, right: Buffer): Buffer {
  return createHash('sha256').update(HALVES).update(left).update(right).digest()
}

/** The hash of none. */
const EMPTY = createHash('sha256').digest()

/** Leaves of full chunks are halves of the whole tree, so that the roots of chunks give its root as leaves do. */
export function rootOf(hashes: readonly Buffer[]): Buffer {
  const [first = EMPTY] = hashes
  if (hashes.length < 2) return first
  const left = largestHalf(hashes.length)
  return hashHalves(rootOf(hashes.slice(0, left)), rootOf(hashes.slice(left)))
}

/** The hashes beside the way from a leaf up to the root, the lowest first. */
export function pathOf(hashes: readonly Buffer[], place: number): readonly Buffer[] {
  if (hashes.length < 2) return []
  const left = largestHalf(hashes.length)
  return place < left
    ? [...pathOf(hashes.slice(0, left), place), rootOf(hashes.slice(left))]
    : [...pathOf(hashes.slice(left), place - left), rootOf(hashes.slice(0, left))]
}

/** The root that a leaf at this place of so many has with its path. `null`: the path is too long or too short. */
export function rootBy(leaf: Buffer, place: number, count: number, path: readonly Buffer[]): Buffer | null {
  if (!Number.isSafeInteger(place) || place < 0 || place >= count) return null
  if (count === 1) return path.length === 0 ? leaf : null
  const beside = path.at(-1)
  if (beside === undefined) return null
  const left = largestHalf(count)
  const isLeft = place < left
  const half = isLeft
    ? rootBy(leaf, place, left, path.slice(0, -1))
    : rootBy(leaf, place - left, count - left, path.slice(0, -1))
  if (half === null) return null
  return isLeft ? hashHalves(half, beside) : hashHalves(beside, half)
}

/** The largest power of two below a number of at least 2. */
function largestHalf(count: number): number {
  let half = 1
  while (half * 2 < count) half *= 2
  return half
}
