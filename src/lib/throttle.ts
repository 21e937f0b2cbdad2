/**
 * A gate that opens at most once in `ms`, for log lines that would repeat during an outage. `reopen` lets the
 * next line through after recovery.
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
