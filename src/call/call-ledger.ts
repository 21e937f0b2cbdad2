import type { CallRecord, OpenCall } from './call-record.ts'

/** What names a call to the ledger. Its client says in which journal the call is. */
export type CallName = Pick<OpenCall, 'callId' | 'clientId'>

/** The ledger as a call needs it. Callbacks run when what they wait for survives a kill -9. */
export interface CallLedger {
  readonly canTakeCalls: boolean
  open(call: OpenCall, onWritten: (error: Error | null) => void): void
  /** Keeps `snapshot` as what is known of an open call's usage; written within about a second. */
  saveSnapshot(call: CallName, snapshot: string): void
  saveSnapshotNow(call: CallName, snapshot: string, onWritten: () => void): void
  /**
   * The call ended with `record`.
   *
   * @param onWritten `sequence`: the record's number in its client's journal; 0: it is in none (yet). `jobPico`: what
   * the record says that a job reserves, pico-USD.
   * @param reservedPico What the call reserved of budgets: if it made a job, that goes on until the job's cost is known.
   */
  close(
    record: CallRecord,
    onWritten: (error: Error | null, sequence: number, jobPico?: bigint) => void,
    reservedPico?: bigint,
  ): void
  /** Drops an open call that never went upstream. */
  discard(call: CallName): void
}
