/**
 * A gate that opens at most once in `ms`: for lines that would repeat while something is away. `reopen` lets the
 * next one through, once it is back.
 */
export function atMostEvery(ms: number): { passes(): boolean; reopen(): void } {
  let passedAtMs = Number.NEGATIVE_INFINITY
  return {
    passes() {
      if (performance.now() - passedAtMs < ms) return false
      passedAtMs = performance.now()
      return true
    },
    reopen() {
      passedAtMs = Number.NEGATIVE_INFINITY
    },
  }
}
