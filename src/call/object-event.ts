/** What upstreams keep for those who made it, as far as the gateway tells whose it is. */
export const OBJECT_KINDS = [
  'agent',
  'assistant',
  'async_completion',
  'batch',
  'cached_content',
  'completion',
  'container',
  'conversation',
  'dataset',
  'eval',
  'file',
  'file_search_store',
  'fine_tuning_job',
  'interaction',
  'library',
  'message_batch',
  'model',
  'operation',
  'prediction',
  'response',
  'skill',
  'thread',
  'tuned_model',
  'upload',
  'vector_store',
  'video',
] as const

export type ObjectKind = (typeof OBJECT_KINDS)[number]

/** What a call did to an object of the upstream's. */
export interface ObjectEvent {
  /** As the upstream writes it, without the name of its collection; at most 256 bytes. */
  readonly id: string
  readonly kind: ObjectKind
  /** `ended`: the answer showed a job that runs no more. */
  readonly is: 'created' | 'ended' | 'deleted'
  /** Of what is created: it runs on after its answer, and what it used is told by a later one. */
  readonly job: boolean
  /** Of a job that has ended: it failed, so it used nothing. */
  readonly failed?: true | undefined
  /** Of a file that is made: the id of the job that left it. */
  readonly leftBy?: string | undefined
}

/** Longest id that is kept; nobody writes longer ones but ARNs and resource names. */
export const MAX_OBJECT_ID_BYTES = 256

/** Objects that one call can make or end; a page of what a job left has a few. */
export const MAX_OBJECT_EVENTS = 64

/**
 * The form in which ids are compared. Servers differ in whether they tell letters apart by case, and no two ids of one
 * provider differ in nothing else.
 */
export function foldObjectId(id: string): string {
  return id.toLowerCase()
}

const KINDS: ReadonlySet<string> = new Set(OBJECT_KINDS)
const EVENTS: ReadonlySet<string> = new Set(['created', 'ended', 'deleted'])

/** Events from a record's JSON; `null`: not what a gateway writes. */
export function parseObjectEvents(value: unknown): readonly ObjectEvent[] | null {
  if (!Array.isArray(value) || value.length > MAX_OBJECT_EVENTS) return null
  const events: ObjectEvent[] = []
  for (const element of value as readonly unknown[]) {
    if (typeof element !== 'object' || element === null) return null
    const { id, kind, is, job = false, failed, leftBy } = element as Readonly<Record<string, unknown>>
    if (typeof id !== 'string' || id === '' || Buffer.byteLength(id) > MAX_OBJECT_ID_BYTES) return null
    if (typeof kind !== 'string' || !KINDS.has(kind) || typeof is !== 'string' || !EVENTS.has(is)) return null
    if (typeof job !== 'boolean') return null
    if (
      leftBy !== undefined &&
      (typeof leftBy !== 'string' || Buffer.byteLength(leftBy) > MAX_OBJECT_ID_BYTES)
    ) {
      return null
    }
    events.push({
      id,
      kind: kind as ObjectKind,
      is: is as ObjectEvent['is'],
      job,
      ...(failed === true ? { failed } : {}),
      ...(leftBy === undefined ? {} : { leftBy }),
    })
  }
  return events
}
