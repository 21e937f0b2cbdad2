import type { CallRecord } from '../../call/call-record.ts'
import { responseUseOf } from '../../call/call-record.ts'
import { foldObjectId, type ObjectEvent } from '../../call/object-event.ts'
import { reportsUse } from '../../call/record-fields.ts'
import type { ObjectKey } from '../../objects/table/objects-table.ts'

const NONE: readonly never[] = []

/** A job that runs no longer. */
export interface EndedJob {
  readonly key: ObjectKey
  /** `left_files`: what it used stands in them. `silent`: it will not be reported. */
  readonly how: 'failed' | 'left_files' | 'silent'
}

/** The jobs whose end the call's answer showed. */
export function endedBy(record: CallRecord): readonly EndedJob[] {
  if (record.objects === undefined) return NONE
  const left = new Set(
    record.objects?.flatMap(({ leftBy }) => (leftBy === undefined ? [] : [foldObjectId(leftBy)])),
  )
  return eventsOf(record, 'ended').map(({ key, event }) => ({
    key,
    how: event.failed === true ? 'failed' : left.has(key.foldedId) ? 'left_files' : 'silent',
  }))
}

/** What the call did of this kind, and to which objects. */
export function eventsOf({ upstream, objects = NONE }: CallRecord, kind: ObjectEvent['is']) {
  return objects.flatMap((event) =>
    event.is === kind ? [{ key: { upstream, foldedId: foldObjectId(event.id) }, event }] : [],
  )
}

/** What is only estimated, or was cut, may be reported better later. */
export function isFinal({ usageSource }: Pick<CallRecord, 'usageSource'>): boolean {
  return usageSource === 'reported' || usageSource === 'none'
}

/** What this record tells of work that others submitted. */
export function reportedKeys(record: CallRecord): readonly ObjectKey[] {
  if (record.responseId === null && record.jobs === undefined) return NONE
  const fetched = fetchedKey(record)
  const jobs = (record.jobs ?? []).flatMap((job) =>
    job.isFile === true ? [] : [objectKeyOf(record, job.id)],
  )
  return fetched === null ? jobs : [fetched, ...jobs]
}

/** A response that the call itself had made is its own, whatever id the server, or the client, chose for it. */
export function fetchedKey(record: CallRecord): ObjectKey | null {
  const { responseId, objects } = record
  if (responseId === null || !reportsUse(record)) return null
  if ((record.responseUse ?? responseUseOf(record)) !== 'fetched') return null
  const key = objectKeyOf(record, responseId)
  const isOwn = objects?.some(({ id, is }) => is === 'created' && foldObjectId(id) === key.foldedId)
  return isOwn === true ? null : key
}

/** The object of this id at the call's upstream. */
export function objectKeyOf({ upstream }: CallRecord, id: string): ObjectKey {
  return { upstream, foldedId: foldObjectId(id) }
}
