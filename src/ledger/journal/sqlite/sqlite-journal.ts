import type { OpenCall } from '../../../call/call-record.ts'
import { serialiseOpenCall } from '../../../call/codec/record-codec.ts'
import type { Logger } from '../../../lib/logger.ts'
import type { DiskReserve } from '../disk-reserve.ts'
import type { JournalRow, OnWritten } from '../journal.ts'
import type { DeadJournal, InterruptedRow } from '../journal-store.ts'
import { DiskFailure } from './disk-failure.ts'
import { FEW_FRAMES, JournalCheckpoint } from './journal-checkpoint.ts'
import type { JournalDatabase } from './journal-database.ts'
import { OpenSlots } from './open-slots.ts'
import { StoredRecords } from './stored-records.ts'
import type { JournalWork } from './thread/journal-work.ts'
import { TurnWriter } from './turn-writer.ts'
import { WalSync } from './wal-sync.ts'

export interface SqliteJournalOptions {
  /** Of `journal.db`, which `database` has open. */
  readonly path: string
  readonly database: JournalDatabase
  readonly work: Pick<JournalWork, 'checkpoint'>
  /** `null` for an adopted journal: it has no calls under way. */
  readonly reserve: DiskReserve | null
  readonly log: Logger
}

/** How often usage snapshots of running calls are written, all of them in one transaction. */
const SNAPSHOT_INTERVAL_MS = 1_000

/**
 * The journal as SQLite tables in WAL mode. Its statements run on the event loop, but none of them waits for the disk:
 * syncs of the WAL run in libuv's pool, checkpoints in a thread.
 */
export class SqliteJournal implements DeadJournal {
  readonly #database: JournalDatabase
  readonly #log: Logger
  readonly #walSync: WalSync
  readonly #checkpoint: JournalCheckpoint
  readonly #failure: DiskFailure
  readonly #slots = new OpenSlots()
  readonly #records: StoredRecords
  readonly #writer: TurnWriter
  #snapshotTimer: NodeJS.Timeout | null = null
  #onSynced = () => {}
  #synced = 0
  #closed = false

  constructor({ path, database, work, reserve, log }: SqliteJournalOptions) {
    this.#database = database
    this.#log = log
    const records = new StoredRecords(database)
    // A write of our own: it creates the WAL's file, which WalSync needs, and proves that the disk takes writes.
    database.transact(() => database.setMeta('pruned_to', records.prunedTo))
    const advanceSynced = (sequence: number) => this.#advanceSynced(sequence)
    const walSync = new WalSync(path, records.last, advanceSynced, (error) => this.#syncFailed(error))
    const checkpoint = new JournalCheckpoint({
      path,
      work,
      log,
      walFrames: () => database.walFrames(),
      committed: () => records.last,
      begins: () => database.share(),
      ended: () => this.#checkpointEnded(),
      synced: advanceSynced,
    })
    const failure = new DiskFailure({ checkpoint, reserve, log, commit: () => this.#writer.commit() })
    this.#writer = new TurnWriter({ database, slots: this.#slots, records, walSync, checkpoint, failure })
    this.#records = records
    this.#walSync = walSync
    this.#checkpoint = checkpoint
    this.#failure = failure
    walSync.touch(records.last)
  }

  get last(): number {
    return this.#records.last
  }

  get synced(): number {
    return this.#synced
  }

  get prunedTo(): number {
    return this.#records.prunedTo
  }

  get bytesTotal(): number {
    return this.#records.bytesTotal
  }

  get openCalls(): number {
    return this.#slots.size
  }

  get isWritten(): boolean {
    return this.#writer.isEmpty
  }

  get refuses(): boolean {
    return this.#failure.refuses
  }

  get stream(): string {
    return String(this.#database.getMeta('stream'))
  }

  get isTailLost(): boolean {
    return this.#database.getMeta('tail_lost') === 1
  }

  onSynced(listener: () => void): void {
    this.#onSynced = listener
  }

  open(call: OpenCall, onWritten: OnWritten): void {
    const slot = this.#slots.take(call.callId)
    this.#writer.enqueue({
      kind: 'open',
      call: slot,
      text: serialiseOpenCall(call),
      onWritten: (error) => {
        if (error !== null) this.#slots.free(slot)
        onWritten(error)
      },
    })
  }

  saveSnapshot(callId: string, snapshot: string): void {
    const call = this.#slots.find(callId)
    if (call === null) return
    this.#slots.saveSnapshot(call, snapshot)
    this.#snapshotTimer ??= setTimeout(() => {
      this.#snapshotTimer = null
      this.#writer.includeSnapshots()
      this.#writer.schedule()
    }, SNAPSHOT_INTERVAL_MS)
  }

  saveSnapshotNow(callId: string, snapshot: string, onWritten: OnWritten): void {
    const call = this.#slots.find(callId)
    if (call !== null) this.#slots.discardSnapshot(call)
    this.#writer.enqueue({ kind: 'snapshot', call, text: snapshot, onWritten })
  }

  close(callId: string, body: string, onWritten: OnWritten): void {
    this.#writer.enqueue({ kind: 'close', call: this.#slots.release(callId), text: body, onWritten })
  }

  discard(callId: string): void {
    const call = this.#slots.release(callId)
    if (call !== null) this.#writer.enqueue({ kind: 'discard', call, text: '', onWritten: null })
  }

  selectInterrupted(afterSlot: number, maxRows: number): readonly InterruptedRow[] {
    return this.#database.selectOpen(afterSlot, maxRows)
  }

  closeInterrupted({ slot }: InterruptedRow, body: string, onWritten: OnWritten): void {
    this.#writer.enqueue({ kind: 'close', call: { slot }, text: body, onWritten })
  }

  read(sequence: number, maxRows: number, maxBytes: number): readonly JournalRow[] {
    return this.#records.read(sequence, maxRows, maxBytes)
  }

  hasAnyOf(from: number, to: number): boolean {
    return this.#records.hasAnyOf(from, to)
  }

  dropRecent(sequence: number): void {
    this.#records.dropRecent(sequence)
  }

  bytesTotalAt(sequence: number): number {
    return this.#records.bytesTotalAt(sequence)
  }

  prune(sequence: number, maxRows: number): boolean {
    const upTo = this.#records.nextPrune(sequence, maxRows)
    const isPaused = this.#checkpoint.pausesCommits || this.#failure.isFailing || this.#closed
    if (isPaused || upTo <= this.#records.prunedTo) return false
    try {
      this.#records.prune(upTo)
    } catch (error) {
      this.#log.warn(
        { event: 'journal.prune_failed', err: error, upTo },
        'counted records could not be deleted from the journal yet',
      )
      return false
    }
    this.#walSync.touch(this.#records.last)
    return true
  }

  async flush(): Promise<void> {
    await this.#checkpoint.settled()
    this.#writer.includeSnapshots()
    this.#writer.commit()
    await this.#walSync.sync()
  }

  /** Empties the WAL off the event loop: else SQLite does it there when the last connection closes. */
  async shrink(): Promise<void> {
    if (this.#database.walFrames() > FEW_FRAMES) await this.#checkpoint.run()
  }

  async stop(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#snapshotTimer !== null) clearTimeout(this.#snapshotTimer)
    this.#failure.stop()
    this.#writer.stop()
    await this.#checkpoint.settled()
    await this.#walSync.close()
    this.#database.close()
    this.#writer.rejectRest()
  }

  #advanceSynced(sequence: number): void {
    if (!this.#checkpoint.distrustsSync && sequence > this.#synced) {
      this.#synced = sequence
      this.#onSynced()
    }
    if (!this.#closed) this.#checkpoint.runIfDue()
  }

  #checkpointEnded(): void {
    if (this.#closed) return
    this.#database.exclude()
    this.#writer.schedule()
  }

  #syncFailed(error: Error): void {
    this.#log.error({ event: 'journal.sync_failed', err: error }, 'the journal could not be synced to disk')
    this.#checkpoint.distrustSync()
    this.#failure.retryLater()
  }
}
