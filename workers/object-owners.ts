import type { CallRecord } from '../src/domain/call-record.ts'
import { foldObjectId } from '../src/domain/object-event.ts'
import { responseUseOf } from '../src/domain/response-use.ts'
import {
  addObjects,
  markObjects,
  type NewObject,
  type ObjectKey,
  type ObjectOwnerRow,
  selectOwnersOf,
} from '../src/store/objects.ts'
import type { PostgresSession } from '../src/store/postgres.ts'

/** A record, and who sent its call where that is not who is billed for it. */
export interface BilledRecord extends CallRecord {
  readonly fetchedBy?: { readonly clientId: string; readonly keyId: string }
}

/**
 * Adds the objects that these calls made, and gives each call that brought an object's usage to who made the object,
 * whoever fetched it. The whole call goes there, its request included: what stands in `calls` is what is totalled.
 * Its day is the fetch's.
 *
 * @param records With the usage of each response counted once: what a record still has is its own to bring.
 * @param told The same as they came: a job that tells its usage again waits no more either, as where its fetch was
 * counted before the call that made it.
 */
export async function billCreators(
  session: PostgresSession,
  records: readonly CallRecord[],
  told: readonly CallRecord[],
): Promise<readonly BilledRecord[]> {
  const created = createdBy(records)
  if (created.length > 0) await addObjects(session, created)
  const brought = broughtBy(records)
  const owners = brought.length > 0 ? await selectOwnersOf(session, brought) : []
  const settled = sortedKeys([...broughtBy(told), ...keysOf(records, 'ended')])
  if (settled.length > 0) await markObjects(session, 'settled', settled)
  const deleted = sortedKeys(keysOf(records, 'deleted'))
  if (deleted.length > 0) await markObjects(session, 'deleted', deleted)
  return owners.length === 0 ? records : assign(records, owners)
}

function assign(records: readonly CallRecord[], owners: readonly ObjectOwnerRow[]): readonly BilledRecord[] {
  const byKey = new Map(owners.map((owner) => [textOf(owner), owner]))
  return records.map((record): BilledRecord => {
    const key = broughtKey(record)
    const owner = key === null ? undefined : byKey.get(textOf(key))
    if (owner === undefined) return record
    const { clientId, keyId } = record
    if (owner.clientId === clientId && owner.keyId === keyId) return record
    return { ...record, clientId: owner.clientId, keyId: owner.keyId, fetchedBy: { clientId, keyId } }
  })
}

function createdBy(records: readonly CallRecord[]): NewObject[] {
  const created = new Map<string, NewObject>()
  for (const { objects, upstream, clientId, keyId, callId, path, requestedModel, arrivedAtMs } of records) {
    for (const { id, kind, is, job } of objects ?? []) {
      if (is !== 'created') continue
      const foldedId = foldObjectId(id)
      const key = textOf({ upstream, foldedId })
      if (created.has(key)) continue
      created.set(key, {
        upstream,
        foldedId,
        id,
        kind,
        clientId,
        keyId,
        callId,
        path,
        model: requestedModel,
        createdAtMs: arrivedAtMs,
        job,
      })
    }
  }
  return [...created].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, object]) => object)
}

/** The objects whose usage these records tell, but those that they made themselves. */
function broughtBy(records: readonly CallRecord[]): ObjectKey[] {
  return sortedKeys(records.flatMap((record) => broughtKey(record) ?? []))
}

/** A response that the call itself had made is its own, whatever id the server, or the client, chose for it. */
function broughtKey(record: CallRecord): ObjectKey | null {
  const { upstream, responseId, usageSource, objects } = record
  if (responseId === null || usageSource === 'none') return null
  if ((record.responseUse ?? responseUseOf(record)) !== 'fetched') return null
  const foldedId = foldObjectId(responseId)
  const isOwn = objects?.some(({ id, is }) => is === 'created' && foldObjectId(id) === foldedId)
  return isOwn === true ? null : { upstream, foldedId }
}

function keysOf(records: readonly CallRecord[], event: 'ended' | 'deleted'): ObjectKey[] {
  return records.flatMap(({ upstream, objects }) =>
    (objects ?? []).flatMap(({ id, is }) => (is === event ? [{ upstream, foldedId: foldObjectId(id) }] : [])),
  )
}

/** Each once, in the one order in which rows are locked. */
function sortedKeys(keys: readonly ObjectKey[]): ObjectKey[] {
  const byText = new Map(keys.map((key) => [textOf(key), key]))
  return [...byText].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, key]) => key)
}

function textOf({ upstream, foldedId }: ObjectKey): string {
  return `${upstream}\0${foldedId}`
}
