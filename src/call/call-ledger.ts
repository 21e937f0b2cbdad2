import type { CallRecord, OpenCall } from './call-record.ts'

/** What names a call to the ledger. Its client says in which journal the call is. */
export type CallName = Pick<OpenCall, 'callId' | 'clientId'>

/** What a call without a cost goes on to hold of budgets: pico-USD, above 0. */
export interface KeptReserve {
  readonly pico: bigint
  /** `job`: a job that it made, until that tells its use. `call`: itself, in place of a cost. */
  readonly by: 'job' | 'call'
}

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
   * @param onWritten `sequence`: the record's number in its client's journal; 0: it is in none (yet). `kept`: what the
   * record says that budgets go on to hold.
   * @param reservedPico What the call reserved of budgets: they hold it until the cost of the call or of its job is known.
   */
  close(
    record: CallRecord,
    onWritten: (error: Error | null, sequence: number, kept?: KeptReserve) => void,
    reservedPico?: bigint,
  ): void
  /** Drops an open call that never went upstream. */
  discard(call: CallName): void
}
