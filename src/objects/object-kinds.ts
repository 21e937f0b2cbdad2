// What is known of ids and of kinds of objects, whichever provider keeps them. The providers' entries have the paths.
import type { ObjectKind } from '../call/object-event.ts'
import { parseCount } from '../providers/reading/counts.ts'
import { type JsonObject, member, objectIn, textIn } from '../providers/reading/json-value.ts'

/** Segments that follow a collection and are not ids. */
export const NOT_IDS: ReadonlySet<string> = new Set([
  'cancel',
  'compact',
  'completions',
  'edits',
  'extensions',
  'generations',
  'input_tokens',
  'openapi',
  'runs',
  'search',
])

/** Ids that tell by their beginning what they are, wherever in a path they stand. */
export const SPEAKING_ID =
  /^(?:asst|batch|cntr|conv|eval|evalrun|file|ftjob|msgbatch|resp|skill|thread|upload|video|vs|vsfb)[-_](?=.*\d).{6}/i

/** Kinds of objects that run on after they are made and tell what they used only when they are fetched. */
export const JOBS: ReadonlySet<ObjectKind> = new Set([
  'async_completion',
  'batch',
  'fine_tuning_job',
  'message_batch',
  'operation',
  'video',
])

/** Kinds that are jobs when the answer that makes them says that they run: responses in the background. */
export const JOBS_WHEN_RUNNING: ReadonlySet<ObjectKind> = new Set(['interaction', 'prediction', 'response'])

/** In place of a status: the provider knows the job no more. */
export const LOST = 'lost'

export function statusOf(document: JsonObject): string {
  if (document.done === true) return 'done'
  const counts = objectIn(document.state)
  if (counts !== null && textIn(document.batch_id) !== null) return statusOfBatch(document, counts)
  const written =
    textIn(document.processing_status) ??
    textIn(document.status) ??
    textIn(document.task_status) ??
    statusOfTask(member(document, 'output')?.task_status) ??
    textIn(member(document, 'metadata')?.state) ??
    textIn(document.state) ??
    ''
  return written.toLowerCase()
}

/** Alibaba cancels a task only before it runs, and knows none any more after a day. */
function statusOfTask(status: unknown): string | null {
  if (status === 'CANCELED') return 'failed'
  return status === 'UNKNOWN' ? LOST : textIn(status)
}

/**
 * xAI's batches say how many of their requests are done: none before requests were added or read from a file. A batch that
 * has ended runs again once requests are added.
 */
function statusOfBatch(batch: JsonObject, counts: JsonObject): string {
  const countOf = (name: string) => {
    const count = parseCount(counts[name])
    return count === 'invalid' ? null : count
  }
  const requests = countOf('num_requests') ?? 0
  const done = (countOf('num_success') ?? 0) + (countOf('num_error') ?? 0) + (countOf('num_cancelled') ?? 0)
  if ((countOf('num_pending') ?? requests - done) > 0) return 'in_progress'
  if (textIn(batch.cancel_time) !== null || textIn(batch.cancel_by_xai_message) !== null) return 'cancelled'
  return requests > 0 ? 'completed' : 'in_progress'
}

const ENDED =
  /(?:^|_)(?:completed|complete|fail|failed|expired|cancelled|canceled|succeeded|success|done|ended|incomplete|timeout_exceeded|error)$/

/** Tells whether a job of this status runs no more. */
export function hasEnded(status: string): boolean {
  return ENDED.test(status)
}

/** Tells whether a job of this status has used nothing that is billed. */
export function hasFailed(status: string): boolean {
  return /(?:^|_)fail(?:ed)?$/.test(status)
}

/** Tells whether what was made runs on, by its status. */
export function isRunning(status: string): boolean {
  return /(?:^|_)(?:queued|in_progress|running|pending|starting|processing|validating|validating_files|finalizing|cancell?ing)$/.test(
    status,
  )
}
