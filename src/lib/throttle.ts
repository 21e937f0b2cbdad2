/** Lets something through at most once in a time. */
export interface Gate {
  /** Whether it may pass now. */
  passes(): boolean
  /** The next one passes at once. Returns whether any has passed since the gate was opened last. */
  reopen(): boolean
}

/**
 * A gate for log lines that would repeat during an outage: one line in `ms`, and each further one after twice the time,
 * up to `maxMs`. `reopen` starts again after recovery.
 */
export function atMostEvery(ms: number, maxMs: number = ms): Gate {
  let passedAtMs = Number.NEGATIVE_INFINITY
  let everyMs = ms
  return {
    passes() {
      const isFirst = passedAtMs === Number.NEGATIVE_INFINITY
      const nowMs = performance.now()
      if (nowMs - passedAtMs < everyMs) return false
      if (!isFirst) everyMs = Math.min(everyMs * 2, maxMs)
      passedAtMs = nowMs
      return true
    },
    reopen() {
      const hasPassed = passedAtMs !== Number.NEGATIVE_INFINITY
      passedAtMs = Number.NEGATIVE_INFINITY
      everyMs = ms
      return hasPassed
    },
  }
}
