import { join } from 'node:path'
import type { CallRecord, OpenCall } from '../call/call-record.ts'
import type { SequenceRange } from '../domain/sequence-range.ts'
import type { Logger } from '../lib/logger.ts'
import { DiskReserve } from './journal/disk-reserve.ts'
import type { OnWritten } from './journal/sqlite/journal-turn.ts'
import { createProducerFolder, RESERVE_FILE } from './recovery/producer-folder.ts'
import { RunningLedger } from './running-ledger.ts'

export interface LedgerOptions {
  /** Shared by the gateways of one host; each has a folder of its own in it. Not on NFS: it relies on file locks. */
  readonly journalDir: string
  /** New calls are refused while records of this size, in bytes, are not committed. */
  readonly journalMaxBytes: number
  /** How long committed records are kept, so that a Postgres that falls back by so much can be refilled. */
  readonly keepSeconds: number
  readonly redisUrl: string
  readonly redisPrefix: string
  /** The full key of the stream that this process's records go to. */
  readonly stream: string
  /** Marks as committed in Postgres now; a producer without a row is absent. Rejects when Postgres is away. */
  readonly readCommittedOffsets: (producers: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /** Unfilled holes that workers recorded for a producer. */
  readonly readGaps: (producer: string) => Promise<readonly SequenceRange[]>
  /**
   * The identity of the database that answers: a restore or a failover keeps it, one made anew has another. `null`:
   * it has none. Rejects when Postgres is away.
   */
  readonly readDatabase: () => Promise<string | null>
  /**
   * Makes a stream known to the workers; idempotent. Called before anything is shipped to it, until it succeeds, and
   * now and then after that, as Postgres may have gone back behind it.
   */
  readonly registerStream: (stream: string) => Promise<void>
  /** The record of a call that was cut by a crash, from what is known of it and the last usage noted. */
  readonly buildInterrupted: (open: OpenCall, snapshot: string | null) => CallRecord
  readonly log: Logger
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

/** Where the ledger stands, for health, metrics and `doctor`. Records and bytes include adopted producers'. */
export interface LedgerStats {
  readonly producer: string
  readonly uncommittedRecords: number
  readonly uncommittedBytes: number
  /** How long the oldest uncommitted record has waited; 0: there is none. */
  readonly oldestUncommittedMs: number
  readonly openCalls: number
  /** Of this process's producer: highest sequence committed to the journal, synced, on the stream, and in Postgres. */
  readonly last: number
  readonly synced: number
  readonly sent: number
  readonly committedOffset: number
  /** Of this process's producer: the highest sequence that was committed for long enough and is deleted. */
  readonly pruned: number
  /** Producers that are gone whose journals this process owns. */
  readonly adopted: number
  /** Folders set aside in the journal directory because something in them could not be read. */
  readonly corrupt: number
  readonly redisConnected: boolean
  /** The disk takes writes and the reserve for running calls is there. */
  readonly journalWritable: boolean
}

export interface Ledger {
  /** False: the journal is at its cap or the disk refuses. A call must then be refused. */
  readonly canTakeCalls: boolean
  /** Notes a call before its first byte goes upstream; `onWritten` with an error: it must not go. */
  open(call: OpenCall, onWritten: OnWritten): void
  /** The last usage seen in a call under way, as JSON for `buildInterrupted`; written within about a second. */
  saveSnapshot(callId: string, snapshot: string): void
  /** As `note`, written in this turn of the event loop; then, or when the disk refuses, `onWritten` runs. */
  saveSnapshotNow(callId: string, snapshot: string, onWritten: OnWritten): void
  /** Records a call that has ended; `onWritten` with an error: the client must not see a whole answer. */
  close(record: CallRecord, onWritten: OnWritten): void
  /** Drops a call that was opened and never sent upstream. */
  discard(callId: string): void
  stats(): LedgerStats
  /**
   * Ships what it can within `graceMs` and lets go of everything. Calls still open, and records not yet kept for
   * long enough, stay in the journal for the next adopter.
   */
  stop(graceMs: number): Promise<void>
}

/** Opens a new producer's journal and begins to adopt, ship and forget. Rejects when the directory is unusable. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const folder = createProducerFolder(options.journalDir)
  const reserve = new DiskReserve(join(folder.path, RESERVE_FILE))
  await reserve.allocate()
  return new RunningLedger(options, folder, reserve)
}
