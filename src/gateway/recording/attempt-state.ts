import type { JobUse, OpenCall } from '../../call/call-record.ts'

/** An attempt of a call that may have had others before. */
export interface AttemptState {
  /** 1, 2, 3, ... */
  readonly number: number
  /** What those before it may be billed for: each in a row of its own, beside the call's. Grows until the call ends. */
  readonly uses: readonly JobUse[]
  /** Monotonic milliseconds. */
  readonly startedAt: number
}

type Pair = readonly [name: string, value: string]

/** What a routed answer says of itself, for its client. */
export function attemptPairs(
  { upstream }: Pick<OpenCall, 'upstream'>,
  { number }: AttemptState,
): readonly [Pair, Pair] {
  return [
    ['x-tallygate-upstream', upstream],
    ['x-tallygate-attempts', `${number}`],
  ]
}

/** The same as names and values in turn. */
export function attemptHeaders(call: Pick<OpenCall, 'upstream'>, attempt: AttemptState): readonly string[] {
  const [[upstream, name], [attempts, number]] = attemptPairs(call, attempt)
  return [upstream, name, attempts, number]
}
