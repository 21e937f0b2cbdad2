// The collections of objects that upstreams keep, by the segments of their paths: the one table of what belongs to whom.
import type { ObjectKind } from '../call/object-event.ts'
import { type JsonObject, member, textIn } from '../providers/reading/json-value.ts'

export interface Collection {
  /** Lower case; they stand side by side in a path, before an id or at its end. */
  readonly segments: readonly string[]
  readonly kind: ObjectKind
}

/** Where one begins another, the longer one is meant; `object-path.ts` sees to it. */
export const COLLECTIONS: readonly Collection[] = [
  // OpenAI's, and of all who copied them.
  { segments: ['files'], kind: 'file' },
  { segments: ['uploads'], kind: 'upload' },
  { segments: ['batches'], kind: 'batch' },
  { segments: ['responses'], kind: 'response' },
  { segments: ['conversations'], kind: 'conversation' },
  { segments: ['chat', 'completions'], kind: 'completion' },
  { segments: ['vector_stores'], kind: 'vector_store' },
  { segments: ['fine_tuning', 'jobs'], kind: 'fine_tuning_job' },
  { segments: ['fine-tunes'], kind: 'fine_tuning_job' },
  { segments: ['evals'], kind: 'eval' },
  { segments: ['containers'], kind: 'container' },
  { segments: ['videos'], kind: 'video' },
  { segments: ['video', 'generations', 'jobs'], kind: 'video' },
  { segments: ['assistants'], kind: 'assistant' },
  { segments: ['threads'], kind: 'thread' },
  { segments: ['skills'], kind: 'skill' },
  // Anthropic's.
  { segments: ['messages', 'batches'], kind: 'message_batch' },
  // Google's.
  { segments: ['cachedcontents'], kind: 'cached_content' },
  { segments: ['interactions'], kind: 'interaction' },
  { segments: ['tunedmodels'], kind: 'tuned_model' },
  { segments: ['filesearchstores'], kind: 'file_search_store' },
  { segments: ['corpora'], kind: 'file_search_store' },
  { segments: ['operations'], kind: 'operation' },
  { segments: ['batchpredictionjobs'], kind: 'batch' },
  // Mistral's.
  { segments: ['batch', 'jobs'], kind: 'batch' },
  { segments: ['libraries'], kind: 'library' },
  { segments: ['agents'], kind: 'agent' },
  // Perplexity's, xAI's, Cohere's, Replicate's, Bedrock's.
  { segments: ['async', 'chat', 'completions'], kind: 'async_completion' },
  { segments: ['chat', 'deferred-completion'], kind: 'completion' },
  { segments: ['datasets'], kind: 'dataset' },
  { segments: ['embed-jobs'], kind: 'batch' },
  { segments: ['predictions'], kind: 'prediction' },
  { segments: ['async-invoke'], kind: 'operation' },
]

/** Segments that follow a collection and are not ids. */
export const NOT_IDS: ReadonlySet<string> = new Set([
  'cancel',
  'compact',
  'completions',
  'edits',
  'extensions',
  'generations',
  'input_tokens',
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
