/** A gap that a fault made. It has to be recorded exactly. */
export interface ExpectedGap {
  readonly producer: string
  readonly from: number
  readonly to: number
  readonly reason: string
}

/**
 * What faults destroyed for good, call by call, and what has to be reported of it. Only a fault that removes
 * unsynced data, or a whole journal, may add to it. Everything else has to be survived without loss.
 */
export class Allowances {
  /** Ids of calls whose records were destroyed: they may be missing, or be there as interrupted. */
  readonly calls = new Set<string>()
  readonly gaps: ExpectedGap[] = []
  /** Milliseconds between the end of a call whose record was not shipped and the simulated power loss; the longest. */
  oldestUnshippedMs = 0
}
