import type { LogPosition } from '../format/frames.ts'
import type { SegmentLog } from '../segment-log.ts'

/** A finished call waits at most this long for its sync; a busy gateway syncs this often. */
const SYNC_INTERVAL_MS = 25

/** The end of a log when a sync began that succeeded. */
export interface SyncedState {
  readonly end: LogPosition
  readonly last: number
  readonly bytesTotal: number
  readonly discards: number
}

/**
 * The trust in syncs. `distrusted`: one failed. The kernel reports that once and then treats the pages as
 * clean, so that a later sync proves nothing. `rewritten`: what was not synced is in another file, whose sync decides.
 */
export type SyncTrust = 'trusted' | 'distrusted' | 'rewritten'

export interface LogSyncOptions {
  readonly log: SegmentLog
  /** The end of the log when it was last synced. */
  readonly synced: SyncedState
  readonly onSynced: (state: SyncedState) => void
  readonly onError: (error: Error) => void
}

/** Calls `fdatasync` on a log, off the event loop, while there is something to sync. */
export class LogSync {
  readonly #options: LogSyncOptions
  #synced: SyncedState
  #trust: SyncTrust = 'trusted'
  #dirty = false
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #closed = false

  constructor(options: LogSyncOptions) {
    this.#options = options
    this.#synced = options.synced
  }

  /** The end of the log when it was last synced. */
  get synced(): SyncedState {
    return this.#synced
  }

  get trust(): SyncTrust {
    return this.#trust
  }

  /** Something was written. */
  touch(): void {
    this.#dirty = true
    if (this.#timer === null && this.#running === null && !this.#closed && this.#trust !== 'distrusted') {
      this.#timer = setTimeout(this.#onTimer, SYNC_INTERVAL_MS)
    }
  }

  /** The part that was not synced is in another file now. */
  rewritten(): void {
    this.#trust = 'rewritten'
    this.touch()
  }

  /** Syncs what was written before this call; resolves when that was tried. */
  async sync(): Promise<void> {
    while (this.#running !== null) await this.#running
    if (this.#closed || !this.#dirty || this.#trust === 'distrusted') return
    this.#running = this.#syncFiles()
    await this.#running
  }

  /** Waits for the sync under way. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    while (this.#running !== null) await this.#running
  }

  readonly #onTimer = (): void => {
    this.#timer = null
    void this.sync()
  }

  async #syncFiles(): Promise<void> {
    const { log, onSynced, onError } = this.#options
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#dirty = false
    const { last, bytesTotal, discards } = log.counts
    const state = { end: log.end, last, bytesTotal, discards }
    let failure: unknown = null
    try {
      await this.#syncUpTo(state.end.segment)
    } catch (error) {
      failure = error
    }
    this.#running = null
    if (failure === null) {
      this.#trust = 'trusted'
      this.#synced = state
      onSynced(state)
    } else {
      this.#trust = 'distrusted'
      onError(failure instanceof Error ? failure : new Error(String(failure)))
    }
    if (this.#dirty) this.touch()
  }

  /** The log's files in order: what is in a later one counts only together with all before. */
  async #syncUpTo(segment: number): Promise<void> {
    const { log } = this.#options
    if (log.isFolderDirty) await syncNames(log)
    for (const { number, file } of log.segments) {
      if (file !== null && number <= segment) await file.sync()
    }
    for (const sealed of log.segments) if (sealed.number < segment) sealed.close()
  }
}

async function syncNames(log: SegmentLog): Promise<void> {
  log.isFolderDirty = false // It may be dirty again before the answer comes.
  try {
    await log.options.disk.syncFolder(log.options.folder)
  } catch (error) {
    log.isFolderDirty = true
    throw error
  }
}
