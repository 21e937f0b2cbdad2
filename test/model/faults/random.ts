/** Whole numbers from 0 to below `end`. */
export type Random = (end: number) => number

/** The same numbers for the same seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed | 0
  return (end) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end)
  }
}

/** One of `items`; `undefined` when there are none. */
export function oneOf<T>(items: readonly T[], random: Random): T | undefined {
  return items[random(items.length)]
}
