import type { KeptJob } from '../../objects/table/jobs-table.ts'

/** Kinds whose usage an answer reports, and the path after their id where it does. */
const REPORTED_BELOW: Readonly<Record<string, string>> = {
  async_completion: '',
  batch: '',
  eval: '',
  fine_tuning_job: '',
  interaction: '',
  message_batch: '/results',
  response: '',
  video: '',
}

export const FETCHED_KINDS: readonly string[] = Object.keys(REPORTED_BELOW)

/** What a model's path begins with, at Google. */
const GOOGLE_MODEL = /^(.*?\/v1\w*)\/.*:batchgeneratecontent$/i
const VIDEOS = /\/videos(?:\/.*)?$/i

/** Where a job is fetched, by the path of the call that submitted it. */
export function pathOfJob({ path, id }: KeptJob): string {
  const submitted = path.replace(/\/+$/, '')
  const google = GOOGLE_MODEL.exec(submitted)?.[1]
  const collection = google === undefined ? submitted.replace(VIDEOS, '/videos') : `${google}/batches`
  return `${collection}/${encodeURIComponent(id)}`
}

/** Where it reports its usage. */
export function reportPathOf(job: KeptJob): string {
  return `${pathOfJob(job)}${REPORTED_BELOW[job.kind] ?? ''}`
}

/** Where a file that it left is read; `null`: unknown. The second is the path's rest. */
export function pathOfFile({ path }: KeptJob, fileId: string): readonly [path: string, query: string] | null {
  const submitted = path.replace(/\/+$/, '')
  const google = GOOGLE_MODEL.exec(submitted)?.[1]
  const id = encodeURIComponent(fileId)
  if (google !== undefined) return [`/download${google}/files/${id}:download`, '?alt=media']
  const before = /^(.*)\/(?:batches|batch\/jobs)$/i.exec(submitted)?.[1]
  return before === undefined ? null : [`${before}/files/${id}/content`, '']
}
