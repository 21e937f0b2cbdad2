// Puts what a call made of objects into its record, so that both reach Postgres by the same exactly-once way.
import type { CallLedger } from '../call/call-ledger.ts'
import type { CallRecord } from '../call/call-record.ts'
import type { ObjectEvent } from '../call/object-event.ts'
import { readObjectPath } from './object-path.ts'
import type { Objects } from './objects.ts'

/** `ledger`, whose records say what their calls made of objects. */
export function recordObjects(ledger: CallLedger, objects: Objects): CallLedger {
  return {
    get canTakeCalls() {
      return ledger.canTakeCalls
    },
    open: (call, onWritten) => ledger.open(call, onWritten),
    saveSnapshot: (call, snapshot) => ledger.saveSnapshot(call, snapshot),
    saveSnapshotNow: (call, snapshot, onWritten) => ledger.saveSnapshotNow(call, snapshot, onWritten),
    close(record, onWritten) {
      const events = objects.take(record.callId)
      ledger.close(events === null ? record : { ...record, objects: events }, onWritten)
    },
    discard(call) {
      objects.take(call.callId)
      ledger.discard(call)
    },
  }
}

/** What a call that a crash cut has made, as far as its usage snapshot names it: a response. */
export function objectsOfInterrupted(record: CallRecord): readonly ObjectEvent[] | null {
  const { method, path, responseId } = record
  if (method !== 'POST' || responseId === null) return null
  const { names, collection } = readObjectPath(path)
  if (names.length > 0 || (collection !== 'response' && collection !== 'interaction')) return null
  return [{ id: responseId, kind: collection, is: 'created', job: false }]
}
