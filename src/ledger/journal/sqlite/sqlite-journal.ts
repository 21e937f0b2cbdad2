import type { OpenCall } from '../../../call/call-record.ts'
import { serialiseOpenCall } from '../../../call/record-codec.ts'
import type { Logger } from '../../../lib/logger.ts'
import type { DiskReserve } from '../disk-reserve.ts'
import { RecentRows } from '../recent-rows.ts'
import { FEW_FRAMES, JournalCheckpoint } from './journal-checkpoint.ts'
import type { JournalDatabase, JournalRow } from './journal-database.ts'
import { type JournalOperation, type OnWritten, writeTurn } from './journal-turn.ts'
import { OpenSlots } from './open-slots.ts'
import { SQLITE_BUSY, sqliteResult } from './sqlite-result.ts'
import type { JournalWork } from './thread/journal-work.ts'
import { WalSync } from './wal-sync.ts'

export interface JournalOptions {
  /** Of `journal.db`, which `database` has open. */
  readonly path: string
  readonly database: JournalDatabase
  readonly work: Pick<JournalWork, 'checkpoint'>
  /** `null` for an adopted journal: it has no calls under way. */
  readonly reserve: DiskReserve | null
  readonly log: Logger
  /** More records survive power loss now. */
  readonly onSynced: () => void
}

/** How often usage seen in running calls is written, all of it in one transaction. */
const SNAPSHOT_INTERVAL_MS = 1_000
/** How often a journal whose disk refused tries again. */
const RETRY_MIN_MS = 1_000
const RETRY_MAX_MS = 10_000
/** Another connection holds the write lock for a moment only (a checkpoint); after this long it is a fault. */
const BUSY_LIMIT_MS = 5_000
const BUSY_RETRY_MS = 5

/**
 * The journal of one producer: what happened in one turn of the event loop is one transaction, and its callbacks
 * run when it is committed. Synchronous SQLite on the event loop, but nothing in it waits for the disk: syncs and
 * checkpoints happen elsewhere.
 */
export class Journal {
  readonly #database: JournalDatabase
  readonly #reserve: DiskReserve | null
  readonly #log: Logger
  readonly #onSynced: () => void
  readonly #walSync: WalSync
  readonly #checkpoint: JournalCheckpoint
  readonly #recent = new RecentRows()
  readonly #calls = new OpenSlots()
  #queue: JournalOperation[] = []
  #snapshotsDue = false
  #snapshotTimer: NodeJS.Timeout | null = null
  #turnScheduled = false
  #retryTimer: NodeJS.Timeout | null = null
  #retryMs = RETRY_MIN_MS
  #busySinceMs: number | null = null
  #failure: Error | null = null
  /** What could be done against a full disk has been done since the last commit. */
  #madeRoom = false
  #closed = false
  #last: number
  #bytesTotal: number
  #synced: number
  #prunedTo: number

  constructor(options: JournalOptions) {
    const { database, path, work, log } = options
    this.#database = database
    this.#reserve = options.reserve
    this.#log = log
    this.#onSynced = options.onSynced
    this.#prunedTo = Number(database.getMeta('pruned_to') ?? 0)
    this.#last = Math.max(database.lastSequence(), this.#prunedTo)
    this.#bytesTotal = database.bytesTotalAt(this.#last)
    this.#synced = 0
    // A write of our own: it makes the WAL's file, which WalSync needs, and proves that the disk takes writes.
    database.begin()
    database.setMeta('pruned_to', this.#prunedTo)
    database.commit()
    this.#walSync = new WalSync(
      path,
      this.#last,
      (sequence) => this.#advanceSynced(sequence),
      (error) => this.#syncFailed(error),
    )
    this.#checkpoint = new JournalCheckpoint({
      path,
      work,
      log,
      walFrames: () => database.walFrames(),
      committed: () => this.#last,
      begins: () => database.share(),
      ended: () => this.#checkpointEnded(),
      synced: (sequence) => this.#advanceSynced(sequence),
    })
    this.#walSync.touch(this.#last)
    if (this.#reserve?.held === false) this.#retryLater()
  }

  /** The highest sequence committed. */
  get last(): number {
    return this.#last
  }

  /** The highest sequence that survives power loss. */
  get synced(): number {
    return this.#synced
  }

  /** The highest sequence that was deleted. */
  get prunedTo(): number {
    return this.#prunedTo
  }

  /** Bytes of all bodies, the deleted ones included, up to `last`. */
  get bytesTotal(): number {
    return this.#bytesTotal
  }

  get openCalls(): number {
    return this.#calls.size
  }

  /** False: the disk has not taken all that was handed in, and may have a row of a call that has ended. */
  get isWritten(): boolean {
    return this.#queue.length === 0
  }

  /** The disk refuses, or the reserve for running calls is not there: no new call may be taken. */
  get refuses(): boolean {
    return this.#failure !== null || this.#checkpoint.distrustsSync || this.#reserve?.held === false
  }

  /** Notes a call before it goes upstream. On an error it is forgotten here. */
  open(call: OpenCall, onWritten: OnWritten): void {
    const slot = this.#calls.take(call.callId)
    this.#enqueue({
      kind: 'open',
      call: slot,
      text: serialiseOpenCall(call),
      onWritten: (error) => {
        if (error !== null) this.#calls.free(slot)
        onWritten(error)
      },
    })
  }

  /** Notes the last usage seen in a call under way; written within about a second. */
  saveSnapshot(callId: string, snapshot: string): void {
    const call = this.#calls.find(callId)
    if (call === null) return
    this.#calls.saveSnapshot(call, snapshot)
    this.#snapshotTimer ??= setTimeout(() => {
      this.#snapshotTimer = null
      this.#snapshotsDue = true
      this.#schedule()
    }, SNAPSHOT_INTERVAL_MS)
  }

  /** As `note`, but in this turn's transaction: for what the client must not see before it is written. */
  saveSnapshotNow(callId: string, snapshot: string, onWritten: OnWritten): void {
    const call = this.#calls.find(callId)
    if (call !== null) this.#calls.discardSnapshot(call)
    this.#enqueue({ kind: 'snapshot', call, text: snapshot, onWritten })
  }

  /** The call ended: its record gets the next number and its open row goes, in one transaction. */
  close(callId: string, body: string, onWritten: OnWritten): void {
    this.#enqueue({ kind: 'close', call: this.#calls.release(callId), text: body, onWritten })
  }

  /** The call was never sent upstream: nothing of it is kept. */
  discard(callId: string): void {
    const call = this.#calls.release(callId)
    if (call !== null) this.#enqueue({ kind: 'discard', call, text: '', onWritten: null })
  }

  /** As `close`, for an open row that a dead producer left in `slot`. */
  closeSlot(slot: number, body: string, onWritten: OnWritten): void {
    this.#enqueue({ kind: 'close', call: { slot }, text: body, onWritten })
  }

  /** Records after `sequence`, in order: at most `maxRows` and, but for the first, at most `maxBytes` of bodies. */
  read(sequence: number, maxRows: number, maxBytes: number): readonly JournalRow[] {
    const recent = this.#recent.after(sequence, maxRows, maxBytes)
    return recent.length > 0 ? recent : this.#database.selectCalls(sequence, maxRows, maxBytes)
  }

  /** Whether it has a record from `from` to `to`. */
  hasAnyOf(from: number, to: number): boolean {
    const next = this.read(Math.max(from - 1, this.#prunedTo), 1, 0)[0]
    return next !== undefined && next.sequence <= to
  }

  /** The records at or under `sequence` need not be kept in memory any more. */
  dropRecent(sequence: number): void {
    this.#recent.dropThrough(sequence)
  }

  /** Bytes of all bodies up to and with `sequence`. */
  bytesTotalAt(sequence: number): number {
    return sequence >= this.#last ? this.#bytesTotal : this.#database.bytesTotalAt(sequence)
  }

  /** Deletes at most `maxRows` of the oldest records, none above `sequence`. False: nothing was left to delete. */
  prune(sequence: number, maxRows: number): boolean {
    const upTo = Math.min(sequence, this.#last, this.#prunedTo + maxRows)
    if (upTo <= this.#prunedTo || this.#checkpoint.pausesCommits || this.#failure !== null || this.#closed)
      return false
    try {
      this.#write(() => this.#database.deleteCalls(upTo))
    } catch (error) {
      this.#log.warn({ err: error, upTo }, 'committed records could not be deleted from the journal yet')
      return false
    }
    this.#prunedTo = upTo
    this.#walSync.touch(this.#last)
    return true
  }

  /** Commits and syncs what was handed in before; resolves when that was done or refused. */
  async flush(): Promise<void> {
    await this.#checkpoint.settled()
    this.#snapshotsDue = true
    this.#turn()
    await this.#walSync.sync()
  }

  /** Empties the WAL off the event loop, so that letting go of the files does not do it there. */
  async shrink(): Promise<void> {
    if (this.#database.walFrames() > FEW_FRAMES) await this.#checkpoint.run()
  }

  /** Lets go of the files. What was not committed by then gets an error. */
  async stop(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#snapshotTimer !== null) clearTimeout(this.#snapshotTimer)
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer)
    await this.#checkpoint.settled()
    await this.#walSync.close()
    this.#database.close()
    const refused = this.#queue
    this.#queue = []
    for (const operation of refused) operation.onWritten?.(new Error('the journal is closed'))
  }

  #enqueue(operation: JournalOperation): void {
    this.#queue.push(operation)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#turnScheduled || this.#closed) return
    this.#turnScheduled = true
    setImmediate(() => {
      this.#turnScheduled = false
      this.#turn()
    })
  }

  /** Commits all that waits, as one transaction. */
  #turn(): void {
    if (this.#checkpoint.pausesCommits || this.#closed) return
    const operations = this.#queue
    const snapshots = this.#snapshotsDue ? this.#calls.pendingSnapshots : []
    if (operations.length === 0 && snapshots.length === 0 && this.#failure === null) return
    this.#queue = []
    let committed: readonly JournalRow[]
    try {
      committed = this.#write(() => {
        const end = { sequence: this.#last, bytesTotal: this.#bytesTotal }
        const rows = writeTurn(this.#database, end, operations)
        for (const { slot, snapshot } of snapshots)
          if (snapshot !== null) this.#database.setSnapshot(slot, snapshot)
        // With nothing to write, only asked after a failure: whether the disk takes writes again.
        if (operations.length === 0) this.#database.setMeta('pruned_to', this.#prunedTo)
        return rows
      })
    } catch (error) {
      this.#refused(operations, error instanceof Error ? error : new Error(String(error)))
      return
    }
    this.#busySinceMs = null
    this.#snapshotsDue = false
    for (const call of snapshots) this.#calls.discardSnapshot(call)
    const newest = committed.at(-1)
    if (newest !== undefined) {
      this.#last = newest.sequence
      this.#bytesTotal = newest.bytesTotal
      for (const row of committed) this.#recent.add(row)
    }
    this.#walSync.touch(this.#last)
    if (this.#failure !== null) this.#recovered()
    for (const operation of operations) operation.onWritten?.(null)
  }

  #write<T>(statements: () => T): T {
    const database = this.#database
    try {
      database.begin()
      const result = statements()
      database.commit()
      return result
    } catch (error) {
      database.rollback()
      throw error
    }
  }

  /**
   * Nothing of `operations` was committed. New calls are refused. What ends running calls is tried again with
   * the reserve given up and the WAL emptied; if that does not help, its callers are told, and it waits to be
   * tried again while the process lives.
   */
  #refused(operations: readonly JournalOperation[], error: Error): void {
    if (this.#isBriefLock(error)) {
      this.#queue = [...operations, ...this.#queue]
      this.#database.share() // Somebody has it open: it cannot be ours alone just now.
      setTimeout(() => this.#schedule(), BUSY_RETRY_MS)
      return
    }
    if (this.#failure === null) this.#log.error({ err: error }, 'the journal cannot be written')
    this.#failure = error
    const opens = operations.filter(({ kind }) => kind === 'open')
    const others = operations.filter(({ kind }) => kind !== 'open')
    this.#queue = [...others, ...this.#queue]
    for (const { onWritten } of opens) onWritten?.(error)
    if (!this.#madeRoom) {
      this.#madeRoom = true
      this.#reserve?.release()
      void this.#checkpoint.makeRoom()
      return
    }
    for (const operation of others) {
      const { onWritten } = operation
      operation.onWritten = null
      onWritten?.(error)
    }
    this.#retryLater()
  }

  #isBriefLock(error: Error): boolean {
    if (sqliteResult(error) !== SQLITE_BUSY) return false
    this.#busySinceMs ??= performance.now()
    return performance.now() - this.#busySinceMs < BUSY_LIMIT_MS
  }

  #retryLater(): void {
    if (this.#closed) return
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null
      void this.#recover()
    }, this.#retryMs)
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS)
  }

  #recovered(): void {
    this.#failure = null
    this.#madeRoom = false
    this.#retryLater() // The reserve is to be made again.
  }

  async #recover(): Promise<void> {
    if (this.#failure !== null) this.#turn()
    if (this.#checkpoint.distrustsSync) await this.#checkpoint.run()
    if (this.#failure === null && (await this.#reserve?.allocate()) === false)
      await this.#checkpoint.makeRoom()
    if (this.refuses) return this.#retryLater()
    this.#retryMs = RETRY_MIN_MS
    this.#log.info({}, 'the journal takes writes again')
  }

  #advanceSynced(sequence: number): void {
    if (!this.#checkpoint.distrustsSync && sequence > this.#synced) {
      this.#synced = sequence
      this.#onSynced()
    }
    if (!this.#closed) this.#checkpoint.consider()
  }

  #checkpointEnded(): void {
    if (this.#closed) return
    this.#database.exclude()
    this.#schedule()
  }

  #syncFailed(error: Error): void {
    this.#log.error({ err: error }, 'the journal cannot be synced')
    this.#checkpoint.distrustSync()
    this.#retryLater()
  }
}
