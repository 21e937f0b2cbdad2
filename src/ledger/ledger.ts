import type { CallName, SnapshotSource } from '../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../call/call-record.ts'
import type { Logger } from '../lib/logger.ts'
import type { RedisMemory } from '../store/connection/redis-state.ts'
import type { OnWritten } from './journal/journal.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import type { BuildInterrupted } from './recovery/adopt-journal.ts'

export interface LedgerOptions {
  /** Shared by the gateways of one host; each has a folder of its own in it. Not on NFS: it relies on file locks. */
  readonly journalDir: string
  /** New calls are refused while records of this size, in bytes, are not committed. */
  readonly journalMaxBytes: number
  /** How long committed records are kept, so that a Postgres restored to that time ago can be refilled. */
  readonly keepSeconds: number
  readonly redisUrl: string
  readonly redisPrefix: string
  /** The figures that Redis last gave of its memory; `null`, and by default: not known. */
  readonly redisMemory?: () => RedisMemory | null
  /** The full keys of the streams that this process's records go to, one a shard: 1 at least. */
  readonly streams: readonly string[]
  readonly database: LedgerDatabase
  readonly buildInterrupted: BuildInterrupted
  readonly log: Logger
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

/** State of the ledger, for health, metrics and `doctor`. Records and bytes include those of adopted producers. */
export interface LedgerStats {
  readonly uncommittedRecords: number
  readonly uncommittedBytes: number
  /** How long the oldest uncommitted record has waited; 0: there is none. */
  readonly oldestUncommittedMs: number
  readonly openCalls: number
  /**
   * Counts of this process's producers together: records committed to the journals, synced, on the streams, and in
   * Postgres.
   */
  readonly last: number
  readonly synced: number
  readonly sent: number
  readonly committedOffset: number
  /** Count of this process's producers together: records that were committed for long enough and were deleted. */
  readonly pruned: number
  /** Dead producers whose journals this process has adopted. */
  readonly adopted: number
  /** Folders of the journal directory that are quarantined because something in them could not be read. */
  readonly corrupt: number
  readonly redisConnected: boolean
  /** The disk takes writes and the reserve for running calls is allocated. */
  readonly journalWritable: boolean
}

/** The gateway's journals, one a shard, and their shipping. No method waits for Redis or Postgres. */
export interface Ledger {
  /** False: the journal is at its cap or the disk refuses. A call must then be refused. */
  readonly canTakeCalls: boolean
  /** Writes a call before its first byte goes upstream; `onWritten` with an error: it must not go upstream. */
  open(call: OpenCall, onWritten: OnWritten): void
  /** Writes the usage seen in a call under way, as JSON for `buildInterrupted`, as it is within about a second. */
  saveSnapshot(call: CallName, snapshot: SnapshotSource): void
  /**
   * As `saveSnapshot`, written in this turn of the event loop, unless the call is closed in it. `onWritten` runs then, or
   * when the disk refuses.
   */
  saveSnapshotNow(call: CallName, snapshot: SnapshotSource, onWritten: OnWritten): void
  /** Records a call that has ended; `onWritten` with an error: the client must not see a whole answer. */
  close(record: CallRecord, onWritten: OnWritten): void
  /** Drops a call that was opened and never sent upstream. */
  discard(call: CallName): void
  /** This process's own producers, one a shard. */
  readonly producers: readonly string[]
  /** The one of them that numbers the client's records, and the highest number it has written by now. */
  producerOf(clientId: string): string
  lastSequenceOf(clientId: string): number
  stats(): LedgerStats
  /**
   * Ships what it can within `graceMs`, then closes everything. Calls still open, and records not yet kept for long
   * enough, stay in the journal for the next adopter.
   */
  stop(graceMs: number): Promise<void>
}
