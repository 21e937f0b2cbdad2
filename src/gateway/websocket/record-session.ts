import type { CallRecord, OpenCall, Outcome } from '../../call/call-record.ts'
import type { Admission } from '../admission/admission.ts'
import type { CallServices } from '../proxy/call-services.ts'
import type { CallResult } from '../recording/call-result.ts'
import { finalizeCall, finalizeEstimated } from '../recording/finalize-call.ts'
import { endpointContextOf } from '../routing/endpoint-context.ts'
import type { SessionMeter } from './session-meter.ts'

/** How a session ended. */
export interface EndedSession {
  readonly call: OpenCall
  /** The upstream's status; `null`: it never answered the handshake. */
  readonly status: number | null
  readonly outcome: Outcome
  /** `null`: its messages were not read. */
  readonly meter: SessionMeter | null
  /** Nothing that its client said went upstream. */
  readonly isUnsaid: boolean
}

/** Writes the record of a session to the ledger, then calls back. What is under way is estimated. */
export function recordSession(
  { call, status, outcome, meter, isUnsaid }: EndedSession,
  { caller, route, limits }: Admission,
  services: CallServices,
  onWritten: () => void,
): void {
  const { ledger, observer, pricing } = services
  const result: CallResult = {
    call,
    client: caller,
    endpoint: endpointContextOf(route.dialect),
    status,
    outcome,
    observation: meter?.observation ?? null,
    // A session lasts as long as its client wants: that says nothing of latency.
    latencyUs: null,
    ttftUs: null,
    estimates: null,
    isUnsaid,
  }
  const write = (record: CallRecord) =>
    ledger.close(
      record,
      (_error, sequence, kept) => {
        limits?.recorded(record, sequence, kept)
        observer.callEnded(record)
        onWritten()
      },
      limits?.reservedPico,
    )
  if (meter === null || !meter.underWay || result.observation?.usageSource === 'invalid') {
    write(finalizeCall(result, pricing))
    return
  }
  void meter
    .estimate()
    .then((observation) => write(finalizeEstimated({ ...result, observation }, observation.usage, pricing)))
}
