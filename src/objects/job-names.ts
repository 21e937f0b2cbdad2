// Which calls end a job, or read what it made where its use is not reported.
import type { ObjectKind } from '../call/object-event.ts'
import { JOBS, JOBS_WHEN_RUNNING } from './object-kinds.ts'
import { type ObjectName, type ObjectPath, readObjectPath } from './object-path.ts'

/** What a call would end. */
export interface EndedJobs {
  readonly ids: readonly string[]
  /** Jobs that were submitted to this path go with it, in lower case; '': none. */
  readonly below: string
  /** It is deleted, and can tell nothing afterwards. */
  readonly isDeleted: boolean
}

/** The jobs that a call deletes or cancels, by what it names; `null`: it names nothing that may be one. */
export function jobsEndedBy(method: string, canonicalPath: string): EndedJobs | null {
  if (method !== 'DELETE' && !(method === 'POST' && /cancel$/i.test(canonicalPath))) return null
  const path = readObjectPath(canonicalPath)
  const isDeleted = method === 'DELETE'
  if (!(isDeleted ? endsInJob(path) : path.verb === 'cancel')) return null
  const ids = path.names.flatMap((name) => (mayBeJob(name, path) ? [name.id] : []))
  if (ids.length === 0) return null
  const isEval = isDeleted && path.names.length === 1 && path.names[0]?.kind === 'eval'
  return { ids, below: isEval ? `${canonicalPath}/runs`.toLowerCase() : '', isDeleted }
}

/**
 * What a GET reads of jobs beside their use: what stands below a job, and items of conversations and inputs of
 * responses, which hold what responses in the background said.
 */
export function jobsReadBy(path: ObjectPath): readonly (ObjectName & { readonly job: boolean })[] {
  if (endsInJob(path) || path.collection !== null || path.names.length === 0) return NONE
  return path.names.flatMap((name): readonly (ObjectName & { readonly job: boolean })[] => {
    if (name.kind === 'conversation' || /^(?:input_)?items$/.test(path.verb)) return [{ ...name, job: false }]
    return mayBeJob(name, path) ? [{ id: name.id, kind: kindOf(name, path), job: true }] : []
  })
}

const NONE: readonly never[] = []

/** An id that speaks for itself ends the path of a run of an eval. */
function endsInJob({ endsInName, names, verb }: ObjectPath): boolean {
  return endsInName || names.at(-1)?.id.toLowerCase() === verb
}

function mayBeJob(name: ObjectName, path: ObjectPath): boolean {
  const kind = kindOf(name, path)
  return JOBS.has(kind) || JOBS_WHEN_RUNNING.has(kind) || kind === 'eval'
}

/** Runs of evals look like files, but for what they stand in. */
function kindOf({ kind }: ObjectName, { names }: ObjectPath): ObjectKind {
  return names[0]?.kind === 'eval' ? 'eval' : kind
}
