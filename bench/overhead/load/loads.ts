import type { Percentiles } from '../../stand/figures.ts'

/** What the load generator is asked to do. Calls are all alike. */
export interface Load {
  readonly host: string
  readonly port: number
  /** The whole request, head and body. */
  readonly request: Uint8Array
  /** The body that each answer is to have; `null`: any. */
  readonly expected: Uint8Array | null
  readonly course: Course
}

/**
 * `closed`: each connection sends its next call when the one before has ended; `keeps` leaves them open for the next such
 * run. `open`: calls are sent at times fixed
 * beforehand, `perSecond`, however many are under way. `held`: all calls are under way at once, begun over `beginMs`.
 */
export type Course =
  | {
      readonly kind: 'closed'
      readonly connections: number
      readonly calls: number
      readonly keeps?: boolean
    }
  | { readonly kind: 'open'; readonly perSecond: number; readonly calls: number }
  | { readonly kind: 'held'; readonly calls: number; readonly beginMs: number }

/** What came of it. Durations are counted from when a call was to be sent, not from when it was. */
export interface LoadResult {
  readonly calls: number
  readonly ms: number
  readonly firstByte: Percentiles
  readonly whole: Percentiles
  /** Between two reads of one answer's body. */
  readonly gaps: Percentiles
  /** How late the generator was for the times of an `open` or a `held` load; that is within all other durations. */
  readonly lateness: Percentiles
  /** Calls that had their first byte only after another had ended. */
  readonly queued: number
}

/** The generator's answer to a {@link Load}. */
export type LoadAnswer = { readonly result: LoadResult } | { readonly problem: string }
