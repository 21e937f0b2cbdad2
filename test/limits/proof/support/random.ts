/** Numbers from 0 to below 1 that are the same for the same seed: a linear congruence (Numerical Recipes). */
export function seeded(seed: number): () => number {
  let state = (seed * 2_654_435_761) % 2 ** 32
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
