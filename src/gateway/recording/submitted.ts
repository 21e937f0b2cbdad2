import type { OpenCall } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'

/** Clocks of providers and ours differ; and nobody keeps work for longer. */
const MAX_AHEAD_MS = 300_000
const MAX_AGE_MS = 90 * 86_400_000

/** A fetch as it is priced: at the time when the work that it tells of was submitted, where the answer says a sane one. */
export function asSubmitted(call: OpenCall, { madeAtMs = null }: Observation): OpenCall {
  if (madeAtMs === null) return call
  const age = call.arrivedAtMs - madeAtMs
  return age < -MAX_AHEAD_MS || age > MAX_AGE_MS
    ? call
    : { ...call, arrivedAtMs: Math.min(madeAtMs, call.arrivedAtMs) }
}
