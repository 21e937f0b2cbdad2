import type { SnapshotSource } from '../../../call/call-ports.ts'
import type { OpenCall } from '../../../call/call-record.ts'
import { serialiseOpenCall } from '../../../call/codec/record-codec.ts'
import type { Logger } from '../../../lib/logger.ts'
import type { Journal, JournalRow, OnWritten } from '../journal.ts'
import type { DiskReserve } from '../journal-store.ts'
import { LogRecords } from './log-records.ts'
import type { SegmentLog } from './segment-log.ts'
import { LogOperation, LogTurn } from './turns/log-turn.ts'
import { OpenCalls } from './turns/open-calls.ts'
import { TurnWriter } from './turns/turn-writer.ts'
import { DiskFailure } from './upkeep/disk-failure.ts'
import { rewriteUnsynced } from './upkeep/log-rewrite.ts'
import { LogSync, type SyncedState } from './upkeep/log-sync.ts'
import { SegmentCleaner } from './upkeep/segment-cleaner.ts'

export interface SegmentJournalOptions {
  readonly segments: SegmentLog
  /** The end of the log when it was last synced. */
  readonly synced: SyncedState
  /** `null` for an adopted journal: it has no calls under way. */
  readonly reserve: DiskReserve | null
  /** Segments that are not needed are deleted. */
  readonly cleans: boolean
  /** Called when all files are closed. */
  readonly onStopped: () => void
  /** Those that are open in an adopted log. */
  readonly calls?: OpenCalls
  readonly log: Logger
}

/** How often usage snapshots of running calls are written, all of them in one write. */
const SNAPSHOT_INTERVAL_MS = 1_000

/** The journal as a log of segments. Nothing waits for the disk on the event loop: syncs run in libuv's pool. */
export class SegmentJournal implements Journal {
  protected readonly segments: SegmentLog
  protected readonly writer: TurnWriter
  readonly #log: Logger
  readonly #sync: LogSync
  readonly #failure: DiskFailure
  readonly #calls: OpenCalls
  readonly #records: LogRecords
  readonly #turn: LogTurn
  readonly #cleaner: SegmentCleaner | null
  readonly #onStopped: () => void
  #snapshotTimer: NodeJS.Timeout | null = null
  #onSynced = () => {}
  #closed = false

  constructor(options: SegmentJournalOptions) {
    const { segments, synced, reserve, cleans, onStopped, calls = new OpenCalls(), log } = options
    this.#calls = calls
    const records = new LogRecords(segments)
    const sync = new LogSync({
      log: segments,
      synced,
      onSynced: (state) => this.#advanceSynced(state),
      onError: (error) => this.#syncFailed(error),
    })
    const turn = new LogTurn({ log: segments, calls, records })
    const failure = new DiskFailure({
      reserve,
      commit: () => this.writer.commit(),
      avoidFile: () => segments.avoidCurrent(),
      distrustsSync: () => sync.trust !== 'trusted',
      rewrite: () => this.#rewrite(),
      log,
    })
    this.segments = segments
    this.writer = new TurnWriter({ turn, calls, sync, failure })
    this.#log = log
    this.#sync = sync
    this.#failure = failure
    this.#records = records
    this.#turn = turn
    this.#cleaner = cleans ? new SegmentCleaner({ log: segments, calls, sync }) : null
    this.#onStopped = onStopped
    records.synced(synced.last)
    sync.touch()
  }

  get last(): number {
    return this.segments.counts.last
  }

  get synced(): number {
    return this.#sync.synced.last
  }

  get prunedTo(): number {
    return this.segments.counts.prunedTo
  }

  get bytesTotal(): number {
    return this.segments.counts.bytesTotal
  }

  get openCalls(): number {
    return this.#calls.size
  }

  get isWritten(): boolean {
    return this.writer.isEmpty
  }

  get refuses(): boolean {
    return this.#failure.refuses
  }

  onSynced(listener: () => void): void {
    this.#onSynced = listener
  }

  open(call: OpenCall, onWritten: OnWritten): void {
    const opened = this.#calls.add(call.callId, serialiseOpenCall(call), call)
    this.writer.enqueue(new LogOperation('open', opened, '', onWritten))
  }

  saveSnapshot(callId: string, snapshot: SnapshotSource): void {
    const call = this.#calls.find(callId)
    if (call === null) return
    this.#calls.saveSnapshot(call, snapshot)
    this.#snapshotTimer ??= setTimeout(() => {
      this.#snapshotTimer = null
      this.writer.includeSnapshots()
      this.writer.schedule()
    }, SNAPSHOT_INTERVAL_MS)
  }

  saveSnapshotNow(callId: string, snapshot: SnapshotSource, onWritten: OnWritten): void {
    const call = this.#calls.find(callId)
    if (call !== null) this.#calls.discardSnapshot(call)
    this.writer.enqueue(new LogOperation('snapshot', call, snapshot, onWritten))
  }

  openText(call: OpenCall): string | null {
    const opened = this.#calls.find(call.callId)
    if (opened === null || opened.opened === null) return null
    const { requestedModel, webSocket, upstream, path } = opened.opened
    // A form may have named the model since, the upstream may have refused a session, another target may have answered.
    const isSame = requestedModel === call.requestedModel && webSocket === call.webSocket
    return isSame && upstream === call.upstream && path === call.path ? opened.text : null
  }

  close(callId: string, body: string, onWritten: OnWritten): void {
    this.writer.enqueue(new LogOperation('close', this.#calls.release(callId), body, onWritten))
  }

  discard(callId: string): void {
    const call = this.#calls.release(callId)
    if (call !== null) this.writer.enqueue(new LogOperation('discard', call, '', null))
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
    const { segments } = this
    const { counts, frames } = segments
    const upTo = Math.min(sequence, counts.last, counts.prunedTo + maxRows)
    if (this.#failure.isFailing || this.#closed || upTo <= counts.prunedTo) return false
    try {
      segments.start()
      frames.pruned(upTo, counts.firstSegment)
      segments.append()
    } catch (error) {
      this.#log.warn(
        { event: 'journal.prune_failed', err: error, upTo },
        'counted records could not be deleted from the journal yet',
      )
      return false
    }
    counts.prunedTo = upTo
    this.#sync.touch()
    return true
  }

  async flush(): Promise<void> {
    this.writer.commitAll()
    await this.#sync.sync()
  }

  async shrink(): Promise<void> {
    await this.#cleaner?.settled()
  }

  async stop(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#snapshotTimer !== null) clearTimeout(this.#snapshotTimer)
    this.#failure.stop()
    this.writer.stop()
    await this.#sync.close()
    await this.#cleaner?.settled()
    await this.segments.close()
    this.#onStopped()
    this.writer.rejectRest()
  }

  #advanceSynced(state: SyncedState): void {
    this.#records.synced(state.last)
    this.#turn.syncedDiscards(state.discards)
    this.#proveSync(state)
    this.#onSynced()
    if (!this.#closed) this.#cleaner?.synced(state)
  }

  /** Tells readers how far the log was synced. It needs no sync itself: without it they trust less. */
  #proveSync({ end }: SyncedState): void {
    const { frames, counts } = this.segments
    frames.clear(this.segments.current.bytes)
    frames.synced({ synced: end, last: counts.last, nextCall: counts.nextCall, discards: counts.discards })
    try {
      this.segments.append()
    } catch {
      // The next write to the log will tell.
    }
  }

  #syncFailed(error: Error): void {
    this.#log.error({ event: 'journal.sync_failed', err: error }, 'the journal could not be synced to disk')
    this.#failure.retryLater()
  }

  async #rewrite(): Promise<void> {
    if (this.#sync.trust === 'distrusted' && !this.#rewriteUnsynced()) return
    await this.#sync.sync()
  }

  /** False: the disk does not take it. */
  #rewriteUnsynced(): boolean {
    const { synced } = this.#sync
    try {
      const rows = this.#records.readAfter(synced.last)
      const { discarded } = this.#turn
      const dropped = rewriteUnsynced(this.segments, { synced, rows, discarded, calls: this.#calls })
      this.#cleaner?.addObsolete(dropped)
    } catch (error) {
      this.#log.warn(
        { event: 'journal.rewrite_failed', err: error },
        'what could not be synced could not be written to another file either; it is tried again',
      )
      return false
    }
    this.#sync.rewritten()
    return true
  }
}
