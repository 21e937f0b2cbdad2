// The end of a job, as the answer to a call that reads or cancels it shows it.
import type { ObjectEvent } from '../call/object-event.ts'
import type { AnswerObjects } from './answer-objects.ts'
import { hasEnded, hasFailed } from './object-kinds.ts'
import type { ObjectName, ObjectPath } from './object-path.ts'

/** A call that reads or cancels a job, and what its answer says. */
interface JobAnswer {
  readonly job: ObjectName
  readonly path: ObjectPath
  readonly objects: AnswerObjects
  readonly isWhole: boolean
  /** Its use is not read, as nothing here names its model. */
  readonly isNameless: boolean
  /** It is known here as this client's: files that it left are remembered as the job's. */
  readonly isSubmitters: boolean
}

/** Tells whether the path has the results of one of Anthropic's batches. */
export function readsResults(job: ObjectName, path: ObjectPath): boolean {
  return job.kind === 'message_batch' && path.verb === 'results'
}

/** @returns `null`: it runs on, or the answer does not say. */
export function endShown(answer: JobAnswer): ObjectEvent | null {
  const { job, path, objects, isWhole } = answer
  const { status, left } = objects
  // Anthropic tells what a batch used with its results alone. Of an answer that broke off, the use may be missing.
  const ended = isWhole && (job.kind === 'message_batch' ? readsResults(job, path) : hasEnded(status))
  // One that failed and left files may have run some of its requests.
  const usedNothing = hasFailed(status) && !left.some(isFile)
  if (!usedNothing && (path.verb === 'cancel' || (ended && isReportedElsewhere(answer))))
    return { ...job, is: 'read', job: true }
  if (!ended) return null
  return { ...job, is: 'ended', job: true, ...(usedNothing ? { failed: true } : {}) }
}

/** A cancelled job tells its figures later, if at all, and a batch that left no files elsewhere. */
function isReportedElsewhere({ job, objects: { left }, isNameless, isSubmitters }: JobAnswer): boolean {
  if (isNameless) return true
  return left.some(isFile) ? !isSubmitters : job.kind === 'batch' && left.length === 0
}

function isFile({ kind }: ObjectName): boolean {
  return kind === 'file'
}
