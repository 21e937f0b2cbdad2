import type { CallObserver } from '../../call/call-observer.ts'
import type { CallRecord } from '../../call/call-record.ts'
import type { Logger } from '../../lib/log.ts'
import { CredentialLog } from '../proxy/failures/credential-log.ts'

/**
 * `observer`, and a log line of everything that goes wrong in a call. The calls themselves have a line each
 * only at `debug`: one costs a quarter of a call's CPU.
 */
export function logCalls(observer: CallObserver, log: Logger): CallObserver {
  const credentials = new CredentialLog(log)
  const watched: CallObserver = {
    callStarted: (call) => observer.callStarted(call),
    callEnded(record) {
      if (record.suspect === true) {
        // Either the answer misreports its usage or a price is wrong: the operator has to check.
        log.error({ event: 'call.suspect_cost', ...fieldsOf(record) }, 'a call cost more than CALL_ALERT_USD')
      }
      credentials.ended(record)
      observer.callEnded(record)
    },
    upstreamFailed(call, cause) {
      if (cause === 'credential_refused') credentials.refused(call)
      observer.upstreamFailed(call, cause)
    },
    callUnmetered(record) {
      // No record is kept of the call: the operator bills it from this line.
      log.warn(
        { event: 'call.unmetered', ...fieldsOf(record) },
        'a call passed unmetered, as the journal takes no records',
      )
      observer.callUnmetered(record)
    },
    totalMismatch: (provider) => observer.totalMismatch(provider),
    readingFailed(provider, error) {
      log.warn({ event: 'call.unreadable', provider, err: error }, 'an answer could not be read')
      observer.readingFailed(provider, error)
    },
    callFailed(call, error) {
      log.error({ event: 'call.failed', callId: call.callId, err: error }, 'a call failed in the gateway')
      observer.callFailed(call, error)
    },
  }
  if (!log.isLevelEnabled('debug')) return watched
  return {
    ...watched,
    callEnded(record) {
      log.debug(fieldsOf(record), 'call')
      watched.callEnded(record)
    },
  }
}

function fieldsOf({ usageRaw: _raw, price: _price, ...fields }: CallRecord): object {
  return fields
}
