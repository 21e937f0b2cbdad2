/** Numbers that only depend on the seed. */
export interface Random {
  /** From 0 up to, and without, `limit`. */
  below(limit: number): number
  /** From `from` to `to`, both included. */
  between(from: number, to: number): number
  /** True in `share` of the cases. */
  chance(share: number): boolean
  /** @throws when there is nothing to pick from */
  pick<T>(from: readonly T[]): T
  shuffle<T>(items: readonly T[]): T[]
  /** Numbers of their own for a part, whatever the others draw. */
  fork(part: number): Random
}

/** Mulberry32: 32 bits of state, enough to spread the faults. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const random: Random = {
    below: (limit) => Math.floor(next() * limit),
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    chance: (share) => next() < share,
    pick(from) {
      const item = from[random.below(from.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
    shuffle(items) {
      const shuffled = [...items]
      for (let last = shuffled.length - 1; last > 0; last -= 1) {
        const other = random.below(last + 1)
        const [a, b] = [shuffled[last], shuffled[other]]
        if (a !== undefined && b !== undefined) [shuffled[last], shuffled[other]] = [b, a]
      }
      return shuffled
    },
    fork: (part) => seeded(Math.imul(seed ^ 0x9e3779b9, 2 * part + 1)),
  }
  return random
}
