import type { CallObserver } from '../../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import type { Logger } from '../../lib/log.ts'
import { atMostEvery, type Gate } from '../../lib/repeat.ts'

/** A key that may use some paths and not others would otherwise have a line for each call. */
const AGAIN_AFTER_MS = 60_000
const AGAIN_AFTER_AT_MOST_MS = 3_600_000

interface State {
  readonly gate: Gate
  isRefused: boolean
  /** The refusal has its line. */
  isSaid: boolean
}

/** Says in the log when an upstream begins to refuse the gateway's credential, and when it takes it again. */
export class CredentialLog {
  readonly #log: Pick<Logger, 'error' | 'info'>
  /** By upstream; empty while none has ever refused. */
  readonly #states = new Map<string, State>()

  constructor(log: Pick<Logger, 'error' | 'info'>) {
    this.#log = log
  }

  refused({ upstream, provider, clientId }: OpenCall): void {
    const state = this.#states.get(upstream) ?? {
      gate: atMostEvery(AGAIN_AFTER_MS, AGAIN_AFTER_AT_MOST_MS),
      isRefused: false,
      isSaid: false,
    }
    this.#states.set(upstream, state)
    if (state.isRefused) return
    state.isRefused = true
    state.isSaid = state.gate.passes()
    if (!state.isSaid) return
    this.#log.error(
      { event: 'upstream.credential_refused', upstream, provider, clientId },
      'an upstream refuses the credential of this gateway: renew its API key',
    )
  }

  /** A call has ended, however it did. */
  ended({ upstream, status }: CallRecord): void {
    if (this.#states.size === 0) return
    const state = this.#states.get(upstream)
    if (state?.isRefused !== true || status === null || status >= 300) return
    state.isRefused = false
    if (!state.isSaid) return
    this.#log.info(
      { event: 'upstream.credential_taken', upstream },
      'an upstream takes the credential of this gateway again',
    )
  }
}

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
    attemptFailed: (call, reason) => observer.attemptFailed(call, reason),
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
      const { callId, traceId } = call
      log.error({ event: 'call.failed', callId, traceId, err: error }, 'a call failed in the gateway')
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
