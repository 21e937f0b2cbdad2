/** So many of a list, by a seed: the same for the same seed, in the order of the list. */
export function sampleOf<Item>(items: readonly Item[], most: number, seed: number): readonly Item[] {
  if (most >= items.length) return items
  let state = seed
  const drawn = items.map((item, index) => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return { item, index, order: (mixed ^ (mixed >>> 14)) >>> 0 }
  })
  return drawn
    .sort((a, b) => a.order - b.order)
    .slice(0, most)
    .sort((a, b) => a.index - b.index)
    .map(({ item }) => item)
}
