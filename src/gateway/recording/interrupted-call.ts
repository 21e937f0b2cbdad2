import { buildCallRecord } from '../../call/build-call-record.ts'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import { responseUseOf } from '../../call/response-use.ts'
import { objectsOfInterrupted } from '../../objects/record-objects.ts'
import { endpointFactsOfCut } from '../routing/endpoint-facts.ts'
import { type Pricing, settle } from './finalize-call.ts'
import { decodeSeen } from './usage-snapshot.ts'

/**
 * The record of a call that a crash cut: with the usage that was noted of it, else with none. What passed after
 * the last note is nobody's to know, so nothing is estimated.
 */
export function buildInterrupted(call: OpenCall, seenText: string | null, pricing: Pricing): CallRecord {
  const seen = seenText === null ? null : decodeSeen(seenText)
  const end = settle(
    {
      call,
      clientName: seen?.clientName ?? null,
      endpoint: endpointFactsOfCut(seen?.responseUse ?? responseUseOf(call)),
      status: seen?.status ?? null,
      outcome: 'interrupted',
      observation: seen?.observation ?? null,
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
