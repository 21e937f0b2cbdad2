import { type BilledUnits, NO_UNITS, NO_USAGE, type TokenUsage } from './usage.ts'

/** The report of a response about a call so far, or, once it has ended, in all. */
export interface Observation {
  /**
   * `reported`: final counts. `partial`: counts that the response would have corrected later.
   * `none`: no usage seen. `invalid`: usage seen, but impossible (negative, not a number, above MAX_COUNT).
   */
  readonly usageSource: 'reported' | 'partial' | 'none' | 'invalid'
  readonly usage: TokenUsage
  readonly units: BilledUnits
  /** The model the response named; `null` when it named none. */
  readonly model: string | null
  /** The usage object as the upstream wrote it, at most 8 KiB of text; `null` when there was none. */
  readonly raw: string | null
  /** The body carried an error although the status was a success (error event in a stream, 200 with an error). */
  readonly failed: boolean
  /** The provider's id of the response, where a later request may fetch the same response again. */
  readonly responseId: string | null
  /** The id by which the answer names itself, whether it can be fetched again or not; absent: it names none. */
  readonly answerId?: string | undefined
  /** The response is not finished and its usage comes with a later request (`queued`, `in_progress`). */
  readonly pending: boolean
  /** The upstream's total disagrees with our sum: a sign that the provider counts in a way we do not know yet. */
  readonly totalMismatch: boolean
  /** The cost that the provider reported, integer pico-USD; `null`: none. */
  readonly reportedCostPico: bigint | null
  /**
   * The tier the call was served at (`default`, `flex`, `priority`, `batch`, ...), as written; `null`: not reported.
   */
  readonly serviceTier: string | null
  /** Usage per model where one call was served by several (Anthropic's advisor), adding up to `usage`. */
  readonly parts: readonly UsagePart[] | null
  /** When the reported work was submitted, by the provider's clock; `null` or absent: not reported. */
  readonly madeAtMs?: number | null
  /**
   * The tokens of the longest prompt among several requests that were summed up, `null` where that is not known.
   * Absent: it is one request. Prices by the length of prompts are chosen by it.
   */
  readonly largestPrompt?: number | null | undefined
  /** Units that the upstream did not report: the length of the sound that was sent. */
  readonly hasEstimatedUnits?: true | undefined
  /** The bytes, at least, of the text that sound was written down as; absent: not known. */
  readonly writtenBytes?: number | undefined
  /** The uses that it reports of jobs, where that is not one job by one model: each by its `responseId`. */
  readonly jobs?: readonly JobObservation[]
}

/** Nothing was observed: the endpoint has no dialect, or no answer came. */
export const NOTHING_OBSERVED: Observation = {
  usageSource: 'none',
  usage: NO_USAGE,
  units: NO_UNITS,
  model: null,
  raw: null,
  failed: false,
  responseId: null,
  pending: false,
  totalMismatch: false,
  reportedCostPico: null,
  serviceTier: null,
  parts: null,
}

export interface JobObservation extends Observation {
  /** `responseId` is that of the file that reports it. */
  readonly isFile?: true
  /** `responseId` is that of one request of the job of this id. */
  readonly partOf?: string
}

/** In tokens. */
export interface PromptLengths {
  readonly shortest: number
  readonly longest: number
}

export interface UsagePart {
  /** `null`: the model of the call, which nothing has named. */
  readonly model: string | null
  /** Any of these may have been it instead, and nothing says which: it is priced as the dearest. */
  readonly mayBe?: readonly string[] | undefined
  readonly usage: TokenUsage
  /** The units that it is billed by beside tokens, also in the call's `units`; absent: nothing. */
  readonly units?: BilledUnits | undefined
  /** Of several requests: how long the shortest and the longest of their prompts were. */
  readonly prompts?: PromptLengths | undefined
  /** The tier that it was served at, as written; absent: that of the call. */
  readonly serviceTier?: string | null | undefined
  /** In a session, beside the model that answers: without a price it is a gap in the cost, not the end of it. */
  readonly isBeside?: true | undefined
  /** It was used, and how much could not be read: a gap in the cost. */
  readonly isUnread?: true | undefined
}
