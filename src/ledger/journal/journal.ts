import type { SnapshotSource } from '../../call/call-ports.ts'
import type { OpenCall } from '../../call/call-record.ts'

/**
 * Called once: `null` after the write is committed, else why it was not.
 *
 * @param sequence The number of the record that was written; 0: none was.
 */
export type OnWritten = (error: Error | null, sequence: number) => void

/** A finished record as the journal has it. */
export interface JournalRow {
  readonly sequence: number
  /** Bytes of all bodies of this journal up to and with this one: any range's size is a difference. */
  readonly bytesTotal: number
  /** The exact text that is shipped. */
  readonly body: string
}

/** How far a journal has come. All are sequences; 0: none yet. */
export interface JournalOffsets {
  /** The highest sequence committed: it survives kill -9. */
  readonly last: number
  /** The highest sequence that survives power loss. */
  readonly synced: number
  /** The highest sequence that was deleted. */
  readonly prunedTo: number
}

/** The records of a journal, to be shipped and deleted. Reads throw when the file cannot be read. */
export interface JournalRecords extends JournalOffsets {
  /** Bytes of all bodies up to `last`, those of deleted records included. */
  readonly bytesTotal: number
  /** Bytes of all bodies up to and with `sequence`. */
  bytesTotalAt(sequence: number): number
  /** Records after `sequence`, in order: at most `maxRows` and, but for the first, at most `maxBytes` of bodies. */
  read(sequence: number, maxRows: number, maxBytes: number): readonly JournalRow[]
  /** Tells whether it has a record from `from` to `to`. */
  hasAnyOf(from: number, to: number): boolean
  /** The records at or under `sequence` need not be kept in memory any more. */
  dropRecent(sequence: number): void
  /** Deletes at most `maxRows` of the oldest records, none above `sequence`. False: nothing was left to delete. */
  prune(sequence: number, maxRows: number): boolean
}

/**
 * The journal of one producer: calls under way, and records of calls that ended, numbered 1, 2, 3, ... All that
 * happens in one turn of the event loop is committed together; then its callbacks run. Nothing here waits for the disk
 * on the event loop: syncs and clearing up happen elsewhere.
 */
export interface Journal extends JournalRecords {
  /** Calls opened and neither closed nor discarded. */
  readonly openCalls: number
  /** False: the disk has not taken all that was handed in, and may still have a call that has ended as open. */
  readonly isWritten: boolean
  /** The disk refuses, or the reserve for running calls is not there: no new call may be taken. */
  readonly refuses: boolean
  /** Calls `listener` each time more records survive power loss. A later listener replaces the one before. */
  onSynced(listener: () => void): void
  /** Writes a call before it goes upstream. After an error the journal does not know the call. */
  open(call: OpenCall, onWritten: OnWritten): void
  /** Asks for the usage seen in a call under way within about a second, and writes it then. */
  saveSnapshot(callId: string, snapshot: SnapshotSource): void
  /**
   * As `saveSnapshot`, but in this turn's commit: for what the client must not see before it is written. Where the call is
   * closed in the same turn, its record says all that the snapshot would.
   */
  saveSnapshotNow(callId: string, snapshot: SnapshotSource, onWritten: OnWritten): void
  /** The text that the call was opened with, where it would be the same now; `null`: otherwise. */
  openText(call: OpenCall): string | null
  /** The call ended: its record gets the next number and the call is open no longer, in one commit. */
  close(callId: string, body: string, onWritten: OnWritten): void
  /** The call was never sent upstream: nothing of it is kept. */
  discard(callId: string): void
  /** Commits and syncs what was handed in before; resolves when that was done or refused. */
  flush(): Promise<void>
  /** Does the file work that closing would otherwise do on the event loop. */
  shrink(): Promise<void>
  /** Closes the files. What was not committed by then gets an error. */
  stop(): Promise<void>
}
