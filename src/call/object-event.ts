/** The kinds of objects that upstreams keep for the client that made them, and the gateway guards for that client. */
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

/**
 * The changes that one may go through. `ended`: the answer showed a job that runs no more. `read`: what a job made may
 * have been read where its use is not reported, so that it is to be fetched at once.
 */
export const OBJECT_CHANGES = ['created', 'ended', 'deleted', 'read'] as const

export interface ObjectEvent {
  /** As the upstream writes it, without the name of its collection; at most 256 bytes. */
  readonly id: string
  readonly kind: ObjectKind
  readonly is: (typeof OBJECT_CHANGES)[number]
  /** The created object runs on after its answer, and a later answer reports what it used. */
  readonly job: boolean
  /** The job that has ended failed, so it used nothing. */
  readonly failed?: true | undefined
  /** The id of the job that left the file that is made. */
  readonly leftBy?: string | undefined
  /**
   * The part of budgets that the call of a job that is made reserved, integer pico-USD in decimal, above 0. It stays
   * reserved until the job's cost is counted. Absent where limits did not hold.
   */
  readonly reservedPico?: string | undefined
}

/** Longest id that is kept. Only ARNs and resource names are longer. */
export const MAX_OBJECT_ID_BYTES = 256

/** Objects that one call can make or end: an hour of responses in a session. Workers refuse a record with more. */
export const MAX_OBJECT_EVENTS = 1_024

/**
 * The form in which ids are compared. Some servers ignore the case of letters in ids, and no two ids of one provider
 * differ in case alone.
 */
export function foldObjectId(id: string): string {
  return id.toLowerCase()
}
