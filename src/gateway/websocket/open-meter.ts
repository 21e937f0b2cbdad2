import type { OpenCall } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'
import type { Admission } from '../admission/admission.ts'
import type { CallServices } from '../proxy/call-services.ts'
import { encodeUsageSnapshot } from '../recording/usage-snapshot.ts'
import { SessionMeter } from './session-meter.ts'

/** A session, as far as its usage is concerned. */
export interface MeteredSession {
  /** With the model that the client has named by now. */
  readonly call: OpenCall
  nameModel(model: string): void
  /** What the client says may not go upstream, for this reason. */
  refused(reason: string): void
  /** The upstream has reported more than before. */
  usageReported(observation: Observation): void
}

/**
 * Usage is in the messages that the upstream sends. `null`: its path has no reader, so only the session is
 * counted.
 */
export function openMeter(
  session: MeteredSession,
  { route, caller }: Admission,
  { ledger, observer }: CallServices,
): SessionMeter | null {
  const { dialect } = route
  const { clientId, provider, requestedModel } = session.call
  const reader = dialect?.createMessageReader?.({
    method: 'GET',
    path: route.target.canonicalPath,
    model: requestedModel,
    stream: null,
  })
  if (dialect === null || reader === undefined) return null
  return new SessionMeter({
    dialect,
    reader,
    provider,
    clientId,
    requestedModel,
    onModel: (model) => session.nameModel(model),
    onRefused: (reason) => session.refused(reason),
    onNews: (observed) => {
      // The journal knows the call from before its client named the model.
      const isNamedLater = requestedModel !== session.call.requestedModel
      const model = observed.model ?? (isNamedLater ? session.call.requestedModel : null)
      const observation = model === observed.model ? observed : { ...observed, model }
      session.usageReported(observation)
      const snapshot = {
        observation,
        status: 101,
        clientName: caller.clientName,
        responseUse: 'created',
      } as const
      ledger.saveSnapshot(session.call, encodeUsageSnapshot(snapshot))
    },
    onFailed: (error) => observer.readingFailed(provider, error),
  })
}
