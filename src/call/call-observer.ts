import type { CallRecord, OpenCall } from './call-record.ts'

/**
 * Why a call failed at its upstream: its name has no address, its host takes no connection or none in time, TLS
 * failed, it broke off, took too long, answered with anything but HTTP, or with such a status.
 */
export type UpstreamFailure =
  | 'dns'
  | 'connect_refused'
  | 'connect_timeout'
  | 'tls'
  | 'broken_off'
  | 'slow_answer'
  | 'malformed_answer'
  | 'credential_refused'
  | 'rate_limited'
  | 'server_error'

/** Where a call reports what the operator counts. */
export interface CallObserver {
  callStarted(call: OpenCall): void
  callEnded(record: CallRecord): void
  /** A call that ended, too, and whose record stands nowhere: see `failOpenLedger`. */
  callUnmetered(record: CallRecord): void
  /** Comes before the end of the call. */
  upstreamFailed(call: OpenCall, cause: UpstreamFailure): void
  readingFailed(provider: string, error: unknown): void
  totalMismatch(provider: string): void
  callFailed(call: OpenCall, error: unknown): void
}
