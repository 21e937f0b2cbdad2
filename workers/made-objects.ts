import type { CallRecord } from '../src/domain/call-record.ts'
import { foldObjectId } from '../src/domain/object-event.ts'
import { toldNoFigures } from '../src/domain/unpriced-reason.ts'
import { addObjects, type NewObject, type ObjectKey } from '../src/store/objects.ts'
import type { PostgresSession } from '../src/store/postgres.ts'

/** Adds the objects that these calls made, in the order in which rows are locked. @returns What was asked to be added. */
export async function addMadeObjects(
  session: PostgresSession,
  records: readonly CallRecord[],
): Promise<readonly NewObject[]> {
  const made = madeBy(records)
  if (made.length > 0) await addObjects(session, made)
  return made
}

function madeBy(records: readonly CallRecord[]): readonly NewObject[] {
  const made = new Map<string, NewObject>()
  for (const record of records) {
    // One of them stands for the call, so that its being unpriced is taken back once.
    let unpricedAs = isUnpriced(record) ? record.model : null
    for (const { id, kind, is, job, leftBy } of record.objects ?? []) {
      if (is !== 'created') continue
      const key = { upstream: record.upstream, foldedId: foldObjectId(id) }
      if (made.has(textOf(key))) continue
      made.set(textOf(key), {
        ...key,
        id,
        kind,
        clientId: record.clientId,
        keyId: record.keyId,
        callId: record.callId,
        path: record.path,
        model: record.requestedModel,
        createdAtMs: record.arrivedAtMs,
        job,
        unpricedAs: job ? unpricedAs : null,
        leftBy: leftBy === undefined ? null : foldObjectId(leftBy),
      })
      if (job) unpricedAs = null
    }
  }
  return sortedByKey([...made.values()])
}

/** For the want of figures: they come with its job. */
function isUnpriced({ costPico, priceId, unpricedReason }: CallRecord): boolean {
  return costPico === null && priceId === null && toldNoFigures(unpricedReason)
}

/** Each once, in the one order in which rows are locked. */
export function sortedByKey<Key extends ObjectKey>(keys: readonly Key[]): readonly Key[] {
  const byText = new Map(keys.map((key) => [textOf(key), key]))
  return [...byText].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, key]) => key)
}

/** What names an object, as one text. */
export function textOf({ upstream, foldedId }: ObjectKey): string {
  return `${upstream}\0${foldedId}`
}
