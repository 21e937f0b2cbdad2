import { seeded } from '../../src/standalone/prove/random.ts'

/** So many of a list, by a seed: the same for the same seed, in the order of the list. */
export function sampleOf<Item>(items: readonly Item[], most: number, seed: number): readonly Item[] {
  const drawn = new Set(
    seeded(seed)
      .shuffle([...items.keys()])
      .slice(0, most),
  )
  return items.filter((_, index) => drawn.has(index))
}
