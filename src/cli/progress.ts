import type { Progress } from '../operations/ports.ts'

/** By then a person wonders whether anything happens. */
export const FIRST_MS = 1_000
/** Often enough to see that it goes on, and seldom enough to be read. */
const EVERY_MS = 2_000

/**
 * One line after a second, then every two seconds at most: the place, how much is done, and how fast that was since the line before.
 *
 * @param unit What is counted: `rows`.
 */
export function showProgress(unit: string, write: (line: string) => void): Progress {
  let shownAtMs = performance.now()
  let shownDone = 0
  let everyMs = FIRST_MS
  return {
    at(where, done) {
      const nowMs = performance.now()
      if (nowMs - shownAtMs < everyMs) return
      const perSecond = Math.round(((done - shownDone) * 1_000) / (nowMs - shownAtMs))
      write(`${where}: ${done} ${unit}, ${perSecond} ${unit}/s\n`)
      shownAtMs = nowMs
      shownDone = done
      everyMs = EVERY_MS
    },
  }
}
