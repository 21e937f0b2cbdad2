import type { CallRecord, OpenCall } from './call-record.ts'

/** The ledger as a call needs it. Callbacks run when what they wait for survives a kill -9. */
export interface CallLedger {
  readonly canTakeCalls: boolean
  open(call: OpenCall, onWritten: (error: Error | null) => void): void
  /** Keeps `snapshot` as what is known of an open call's usage; written within about a second. */
  saveSnapshot(callId: string, snapshot: string): void
  saveSnapshotNow(callId: string, snapshot: string, onWritten: () => void): void
  close(record: CallRecord, onWritten: (error: Error | null) => void): void
  /** Drops an open call that never went upstream. */
  discard(callId: string): void
}
