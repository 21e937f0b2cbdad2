import type { Logger } from '../../../lib/logger.ts'
import type { DiskReserve } from '../disk-reserve.ts'
import type { JournalCheckpoint } from './journal-checkpoint.ts'
import { SQLITE_BUSY, SQLITE_FULL, sqliteResult } from './sqlite-result.ts'

/** How often a journal whose disk refused tries again. */
const RETRY_MIN_MS = 1_000
const RETRY_MAX_MS = 10_000
/** Another connection holds the write lock for a moment only (a checkpoint); after this long it is a failure. */
const LOCKED_LIMIT_MS = 5_000

export interface DiskFailureOptions {
  readonly checkpoint: Pick<JournalCheckpoint, 'distrustsSync' | 'makeRoom' | 'run'>
  /** `null` for an adopted journal: it has no calls under way. */
  readonly reserve: DiskReserve | null
  /** Commits what waits, or proves that the disk takes writes again. */
  readonly commit: () => void
  readonly log: Logger
}

/** What a journal does while its disk refuses writes or syncs, until it takes them again. */
export class DiskFailure {
  readonly #options: DiskFailureOptions
  #error: Error | null = null
  #lockedSinceMs: number | null = null
  /** What can be done against a full disk was done since the last commit. */
  #madeRoom = false
  #timer: NodeJS.Timeout | null = null
  #retryMs = RETRY_MIN_MS
  #stopped = false

  constructor(options: DiskFailureOptions) {
    this.#options = options
    if (options.reserve?.held === false) this.retryLater()
  }

  /** The last commit failed. */
  get isFailing(): boolean {
    return this.#error !== null
  }

  /** Writes or syncs fail, or the reserve for running calls is not there: no new call may be taken. */
  get refuses(): boolean {
    const { checkpoint, reserve } = this.#options
    return this.#error !== null || checkpoint.distrustsSync || reserve?.held === false
  }

  /** Whether a commit failed only because another connection holds the lock, and not for long. */
  isBriefLock(error: Error): boolean {
    if (sqliteResult(error) !== SQLITE_BUSY) return false
    this.#lockedSinceMs ??= performance.now()
    return performance.now() - this.#lockedSinceMs < LOCKED_LIMIT_MS
  }

  /** A commit failed. */
  failed(error: Error): void {
    const isFirst = this.#error === null
    this.#error = error
    if (!isFirst) return
    const isFull = sqliteResult(error) === SQLITE_FULL
    this.#options.log.error(
      { event: isFull ? 'journal.full' : 'journal.unwritable', err: error },
      isFull ? 'the journal cannot be written: the disk is full' : 'the journal cannot be written',
    )
  }

  /** Releases the reserve and empties the WAL. False: that was done since the last commit, and did not help. */
  makeRoom(): boolean {
    if (this.#madeRoom) return false
    this.#madeRoom = true
    this.#options.reserve?.release()
    void this.#options.checkpoint.makeRoom()
    return true
  }

  /** A commit succeeded. */
  committed(): void {
    this.#lockedSinceMs = null
    if (this.#error === null) return
    this.#error = null
    this.#madeRoom = false
    this.retryLater() // The reserve must be allocated again.
  }

  retryLater(): void {
    if (this.#stopped) return
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      void this.#retry()
    }, this.#retryMs)
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS)
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  async #retry(): Promise<void> {
    const { checkpoint, reserve, commit, log } = this.#options
    if (this.#error !== null) commit()
    if (checkpoint.distrustsSync) await checkpoint.run()
    if (this.#error === null && (await reserve?.allocate()) === false) await checkpoint.makeRoom()
    if (this.refuses) return this.retryLater()
    this.#retryMs = RETRY_MIN_MS
    log.info({ event: 'journal.recovered' }, 'the journal takes records again')
  }
}
