import type { OpenCall } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'

/** Clocks of providers differ from ours; and no provider keeps work for longer than this. */
const MAX_AHEAD_MS = 300_000
const MAX_AGE_MS = 90 * 86_400_000

/**
 * When a fetch is priced, in milliseconds since 1970: at the time when the work that it reports was
 * submitted, where the answer gives a plausible one.
 */
export function submittedAtMs({ arrivedAtMs }: OpenCall, { madeAtMs = null }: Observation): number {
  if (madeAtMs === null) return arrivedAtMs
  const ageMs = arrivedAtMs - madeAtMs
  return ageMs < -MAX_AHEAD_MS || ageMs > MAX_AGE_MS ? arrivedAtMs : Math.min(madeAtMs, arrivedAtMs)
}
