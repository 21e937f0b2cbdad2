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

const UPSTREAM = 'x-tallygate-upstream'
const ATTEMPTS = 'x-tallygate-attempts'

/** What a routed answer says of itself, for its client. */
export function attemptHeaders(
  { upstream }: Pick<OpenCall, 'upstream'>,
  { number }: AttemptState,
): Readonly<Record<string, string>> {
  return { [UPSTREAM]: upstream, [ATTEMPTS]: `${number}` }
}

/** Adds the same to names and values in turn. */
export function addAttemptHeaders(
  headers: string[],
  { upstream }: Pick<OpenCall, 'upstream'>,
  { number }: AttemptState,
): void {
  headers.push(UPSTREAM, upstream, ATTEMPTS, `${number}`)
}
