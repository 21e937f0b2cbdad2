import type { CallRecord, OpenCall } from './call-record.ts'

/** Where a call reports what the operator counts. */
export interface CallObserver {
  callStarted(call: OpenCall): void
  callEnded(record: CallRecord): void
  /** A call that ended, too, and whose record stands nowhere: see `failOpenLedger`. */
  callUnmetered(record: CallRecord): void
  readingFailed(provider: string, error: unknown): void
  totalMismatch(provider: string): void
  callFailed(call: OpenCall, error: unknown): void
}
