// Which calls make objects, and of what kind.
import type { ObjectKind } from '../call/object-event.ts'
import type { ProviderEntry } from '../providers/provider.ts'
import { entryOf, type Provider } from '../providers/registry.ts'
import type { AnswerObjects } from './answer-objects.ts'
import { isRunning, JOBS, JOBS_WHEN_RUNNING } from './object-kinds.ts'
import type { ObjectName, ObjectPath } from './object-path.ts'

/** A call that may make one. */
interface MakingCall {
  readonly method: string
  readonly mayBeKept: boolean
}

const FORM_KINDS: ReadonlySet<ObjectKind> = new Set(['container', 'file', 'skill', 'upload', 'video'])
/** Methods of Google's models whose answers are operations or batches. */
export const MAKES_OPERATION =
  /^(?:batchgeneratecontent|asyncbatchembedcontent|predictlongrunning|uploadtofilesearchstore|importfile)$/
/** Length of a body that is searched in one turn. */
export const MAX_SEARCHED_BYTES = 1024 * 1024
/** A container that is named, the date in the type of a tool of Anthropic's, OpenAI's tools that run programs. */
const CONTAINER_SIGNS = ['"container', '_202', 'code_interpreter', '"shell'].map((sign) => Buffer.from(sign))

/** The kind that a POST makes; `null`: nothing that is an object of its own. */
export function kindMade(
  { method, mayBeKept }: MakingCall,
  { names, collection, verb }: ObjectPath,
): ObjectKind | null {
  if (method !== 'POST' && collection !== 'file' && collection !== 'upload') return null
  if (names.length > 0) {
    if (verb === 'complete' && names[0]?.kind === 'upload') return 'file'
    if (isEvalRun(names, verb)) return 'eval'
    if (names[0]?.kind === 'tuned_model' && MAKES_OPERATION.test(verb)) return 'operation'
    if (isAddition(names, verb)) return 'batch'
    return verb === 'remix' && names[0]?.kind === 'video' ? 'video' : null
  }
  if (collection === null) return MAKES_OPERATION.test(verb) ? 'operation' : null
  if (collection === 'completion') return mayBeKept ? collection : null
  return verb === 'completions' && collection === 'agent' ? null : collection
}

/** A run of an eval goes on after it is begun; an eval itself does nothing. */
function isEvalRun(names: ObjectPath['names'], verb: string): boolean {
  return names.length === 1 && names[0]?.kind === 'eval' && verb === 'runs'
}

/** Requests that are added to a batch of xAI's, which is one of them. */
function isAddition(names: ObjectPath['names'], verb: string): boolean {
  return names.length === 1 && names[0]?.kind === 'batch' && verb === 'requests'
}

/**
 * The names that a call made of this kind, by its answer. Requests that are added to a batch are work of their own, whose answer names
 * none: they are a job for each call. A batch without an owner is from then on that of who added to it.
 */
export function madeNames(
  kind: ObjectKind,
  { names, verb }: ObjectPath,
  callId: string,
  objects: AnswerObjects,
): readonly ObjectName[] {
  const [batch] = names
  if (batch === undefined || !isAddition(names, verb)) return objects.names(kind)
  // No id of a provider's has a slash.
  return [{ kind, id: `${batch.id}/requests/${callId}` }, batch]
}

/** Tells whether what a call made runs on after it. An operation of Google's is a batch where its name says so. */
export function isJob(
  made: ObjectKind,
  named: ObjectKind,
  path: ObjectPath,
  objects: AnswerObjects,
): boolean {
  if (JOBS.has(made)) return JOBS.has(named)
  if (named !== made) return false
  return isEvalRun(path.names, path.verb) || (JOBS_WHEN_RUNNING.has(made) && isRunning(objects.status))
}

/** Parts of an upload, or a file that is added to a container or skill. */
export function isPartOfFile({ names, verb }: ObjectPath): boolean {
  return names.at(-1)?.kind === 'upload' && verb === 'parts'
}

/** Tells whether a form with a file may be what is sent there. */
export function takesForms({ names, collection }: ObjectPath): boolean {
  const kind = names.at(-1)?.kind ?? collection
  return kind === null || FORM_KINDS.has(kind)
}

/**
 * Tells whether tools that the provider runs may make a container for it: `code_execution_20250825`,
 * `code_interpreter`.
 */
export function makesContainer(body: Buffer | null): boolean {
  if (body === null || body.length > MAX_SEARCHED_BYTES) return true
  return CONTAINER_SIGNS.some((sign) => body.includes(sign))
}

/** How the upstream keeps all answers; `null`: it does not, or all clients may see them. */
export function keptAnswersOf({
  provider,
  objects,
}: {
  readonly provider: Provider
  readonly objects: 'owned' | 'shared'
}): NonNullable<ProviderEntry['keepsAnswers']> | null {
  return objects === 'shared' ? null : (entryOf(provider).keepsAnswers ?? null)
}
