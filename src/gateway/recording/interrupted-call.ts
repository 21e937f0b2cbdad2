import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import { responseUseOf } from '../../call/response-use.ts'
import { objectsOfInterrupted } from '../../objects/record-objects.ts'
import { endpointContextOfCut } from '../routing/endpoint-context.ts'
import { finalizeCall } from './finalize-call.ts'
import type { Pricing } from './pricing.ts'
import { decodeUsageSnapshot } from './usage-snapshot.ts'

/**
 * The record of a call that a crash cut: with its last usage snapshot, if it had one. What passed after
 * that snapshot is unknown, so nothing is estimated.
 */
export function buildInterrupted(call: OpenCall, snapshotText: string | null, pricing: Pricing): CallRecord {
  const snapshot = snapshotText === null ? null : decodeUsageSnapshot(snapshotText)
  const record = finalizeCall(
    {
      call,
      client: snapshot ?? { clientName: null },
      endpoint: endpointContextOfCut(snapshot?.responseUse ?? responseUseOf(call)),
      status: snapshot?.status ?? null,
      outcome: 'interrupted',
      observation: snapshot?.observation ?? null,
      latencyUs: null,
      ttftUs: null,
      estimates: null,
    },
    pricing,
  )
  const objects = objectsOfInterrupted(record)
  return objects === null ? record : { ...record, objects }
}
