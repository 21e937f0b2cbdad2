import type { JournalRow } from '../journal.ts'
import type { DiskFailure } from './disk-failure.ts'
import type { JournalCheckpoint } from './journal-checkpoint.ts'
import type { JournalDatabase } from './journal-database.ts'
import { type JournalOperation, writeTurn } from './journal-turn.ts'
import type { OpenSlots } from './open-slots.ts'
import type { StoredRecords } from './stored-records.ts'
import type { WalSync } from './wal-sync.ts'

/** How long to wait while another connection holds the lock. */
const LOCKED_RETRY_MS = 5

export interface TurnWriterOptions {
  readonly database: JournalDatabase
  readonly slots: OpenSlots
  readonly records: StoredRecords
  readonly walSync: Pick<WalSync, 'touch'>
  readonly checkpoint: Pick<JournalCheckpoint, 'pausesCommits'>
  readonly failure: DiskFailure
}

/** Commits what happened in one turn of the event loop as one transaction, then runs the callbacks that waited. */
export class TurnWriter {
  readonly #database: JournalDatabase
  readonly #slots: OpenSlots
  readonly #records: StoredRecords
  readonly #walSync: Pick<WalSync, 'touch'>
  readonly #checkpoint: Pick<JournalCheckpoint, 'pausesCommits'>
  readonly #failure: DiskFailure
  #queue: JournalOperation[] = []
  #snapshotsDue = false
  #isScheduled = false
  #stopped = false

  constructor(options: TurnWriterOptions) {
    this.#database = options.database
    this.#slots = options.slots
    this.#records = options.records
    this.#walSync = options.walSync
    this.#checkpoint = options.checkpoint
    this.#failure = options.failure
  }

  /** Nothing that was handed in waits for a commit. */
  get isEmpty(): boolean {
    return this.#queue.length === 0
  }

  enqueue(operation: JournalOperation): void {
    this.#queue.push(operation)
    this.schedule()
  }

  /** The next commit also writes the usage snapshots that wait. */
  includeSnapshots(): void {
    this.#snapshotsDue = true
  }

  /** Commits at the end of this turn of the event loop. */
  schedule(): void {
    if (this.#isScheduled || this.#stopped) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.commit()
    })
  }

  /** Commits all that waits, as one transaction; while a checkpoint holds up commits, nothing happens. */
  commit(): void {
    if (this.#checkpoint.pausesCommits || this.#stopped) return
    const operations = this.#queue
    const snapshots = this.#snapshotsDue ? this.#slots.pendingSnapshots : []
    if (operations.length === 0 && snapshots.length === 0 && !this.#failure.isFailing) return
    this.#queue = []
    const database = this.#database
    let rows: readonly JournalRow[]
    try {
      rows = database.transact(() => {
        const written = writeTurn(database, this.#records, operations)
        for (const { slot, snapshot } of snapshots)
          if (snapshot !== null) database.setSnapshot(slot, snapshot)
        // Nothing to write is tried only after a failure: to learn whether the disk takes writes again.
        if (operations.length === 0) database.setMeta('pruned_to', this.#records.prunedTo)
        return written
      })
    } catch (error) {
      this.#refused(operations, error instanceof Error ? error : new Error(String(error)))
      return
    }
    this.#records.add(rows)
    this.#snapshotsDue = false
    for (const call of snapshots) this.#slots.discardSnapshot(call)
    this.#walSync.touch(this.#records.last)
    this.#failure.committed()
    for (const operation of operations) operation.onWritten?.(null)
  }

  /** Commits nothing from now on. */
  stop(): void {
    this.#stopped = true
  }

  /** After `stop`: what still waits gets an error. */
  rejectRest(): void {
    const refused = this.#queue
    this.#queue = []
    for (const operation of refused) operation.onWritten?.(new Error('the journal is closed'))
  }

  /**
   * Nothing of `operations` was committed. New calls are refused. What ends running calls is tried again with the
   * reserve released and the WAL emptied. If that does not help, its callers get the error, and it is tried again as
   * long as the process runs.
   */
  #refused(operations: readonly JournalOperation[], error: Error): void {
    const failure = this.#failure
    if (failure.isBriefLock(error)) {
      this.#queue = [...operations, ...this.#queue]
      this.#database.share() // Another connection has it open: it cannot be ours alone just now.
      setTimeout(() => this.schedule(), LOCKED_RETRY_MS)
      return
    }
    failure.failed(error)
    const opens = operations.filter(({ kind }) => kind === 'open')
    const others = operations.filter(({ kind }) => kind !== 'open')
    this.#queue = [...others, ...this.#queue]
    for (const { onWritten } of opens) onWritten?.(error)
    if (failure.makeRoom()) return
    for (const operation of others) {
      const { onWritten } = operation
      operation.onWritten = null
      onWritten?.(error)
    }
    failure.retryLater()
  }
}
