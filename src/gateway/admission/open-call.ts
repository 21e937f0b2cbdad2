import { newCallId } from '../../call/call-id.ts'
import type { CallObserver } from '../../call/call-ports.ts'
import type { OpenCall } from '../../call/call-record.ts'
import { cleanModel, cleanPath } from '../../domain/clean-text.ts'
import type { CallRefusal } from '../../http/errors.ts'
import { traceIdIn } from '../tracing/call-span.ts'
import type { Admission } from './admission.ts'
import { METERING_UNAVAILABLE } from './stages/ledger.ts'

export interface OpenCallOptions {
  readonly ledger: {
    /** Calls back once the call survives a kill -9, or with an error: then it must not go upstream. */
    open(call: OpenCall, onWritten: (error: Error | null) => void): void
    /** Drops a call that was opened and not sent. */
    discard(call: OpenCall): void
  }
  readonly observer: Pick<CallObserver, 'callStarted'>
}

/** A call that every stage let pass, as it is written to the journal: a new field does not compile until it is here. */
export function buildOpenCall(admission: Admission, nowMs: number): Required<OpenCall> {
  const { caller, route } = admission
  return {
    callId: newCallId(nowMs),
    arrivedAtMs: admission.arrivedAtMs,
    clientId: caller.clientId,
    keyId: caller.keyId,
    upstream: route.upstream.name,
    provider: route.upstream.provider,
    method: admission.method,
    path: cleanPath(route.target.path),
    requestedModel: cleanModel(admission.sentModel),
    webSocket: admission.webSocket,
    traceId: admission.span?.traceId ?? traceIdIn(admission.request.headers),
    route: route.choice?.asked,
    axes: admission.axes,
  }
}

/**
 * Writes the call to the journal, before its first byte goes upstream.
 *
 * @param client destroyed once the client has left.
 * @param done `null`: the call may go upstream. `gone`: its client left before that, so nothing happened that
 *   counts.
 */
export function openCall(
  call: OpenCall,
  client: { readonly destroyed: boolean },
  { ledger, observer }: OpenCallOptions,
  done: (refusal: CallRefusal | 'gone' | null) => void,
): void {
  ledger.open(call, (error) => {
    if (error !== null) {
      done(METERING_UNAVAILABLE)
    } else if (client.destroyed) {
      ledger.discard(call)
      done('gone')
    } else {
      observer.callStarted(call)
      done(null)
    }
  })
}
