import type { JsonObject } from '../providers/reading/json-value.ts'
import { member, textIn } from '../providers/reading/json-value.ts'
export function statusOf(document: JsonObject): string {
  if (document.done === true) return 'done'
  const written =
    textIn(document.processing_status) ??
    textIn(document.status) ??
    textIn(member(document, 'metadata')?.state) ??
    textIn(document.state) ??
    ''
  return written.toLowerCase()
}

const ENDED =
  /(?:^|_)(?:completed|complete|failed|expired|cancelled|canceled|succeeded|success|done|ended|incomplete|timeout_exceeded|error)$/

/** Whether a job of this status runs no more. */
export function hasEnded(status: string): boolean {
  return ENDED.test(status)
}

/** Whether a job of this status has used nothing that is billed. */
export function hasFailed(status: string): boolean {
  return /(?:^|_)failed$/.test(status)
}

/** Whether what was made runs on, by its status. */
export function isRunning(status: string): boolean {
  return /(?:^|_)(?:queued|in_progress|running|pending|starting|processing|validating|validating_files|finalizing|cancell?ing)$/.test(
    status,
  )
}
