import { buildCallRecord } from '../../call/build-call-record.ts'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import { responseUseOf } from '../../call/response-use.ts'
import { objectsOfInterrupted } from '../../objects/record-objects.ts'
import { endpointContextOfCut } from '../routing/endpoint-context.ts'
import { finalizeCall, type Pricing } from './finalize-call.ts'
import { decodeUsageSnapshot } from './usage-snapshot.ts'

/**
 * The record of a call that a crash cut: with the usage that was noted of it, else with none. What passed after
 * the last note is nobody's to know, so nothing is estimated.
 */
export function buildInterrupted(call: OpenCall, snapshotText: string | null, pricing: Pricing): CallRecord {
  const snapshot = snapshotText === null ? null : decodeUsageSnapshot(snapshotText)
  const end = finalizeCall(
    {
      call,
      clientName: snapshot?.clientName ?? null,
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
  const record = buildCallRecord(call, end)
  const objects = objectsOfInterrupted(record)
  return objects === null ? record : { ...record, objects }
}
