import type { Logger } from '../../../../lib/logger.ts'
import type { DiskReserve } from '../../journal-store.ts'

/** How often a journal whose disk refused tries again. */
const RETRY_MIN_MS = 1_000
const RETRY_MAX_MS = 10_000
/** The disk, a quota of it or a limit on files is used up. */
const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

export interface DiskFailureOptions {
  /** `null` for an adopted journal: it has no calls under way. */
  readonly reserve: DiskReserve | null
  /** Commits what waits, or proves that the disk takes writes again. */
  readonly commit: () => void
  /** The next commit goes to another file. */
  readonly avoidFile: () => void
  /** Syncs cannot be trusted. */
  readonly distrustsSync: () => boolean
  /** Writes what syncs cannot be trusted for to another file and syncs that; resolves when that was tried. */
  readonly rewrite: () => Promise<void>
  readonly log: Logger
}

/** The behaviour of a journal while its disk refuses writes or syncs, until it takes them again. */
export class DiskFailure {
  readonly #options: DiskFailureOptions
  #error: Error | null = null
  /** All that can be done against a full disk was done since the last commit. */
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
    const { distrustsSync, reserve } = this.#options
    return this.#error !== null || distrustsSync() || reserve?.held === false
  }

  /** A commit failed. */
  failed(error: Error): void {
    const isFirst = this.#error === null
    this.#error = error
    if (!isFirst) return
    const isFull = 'code' in error && FULL_CODES.has(error.code)
    this.#options.log.error(
      { event: isFull ? 'journal.full' : 'journal.unwritable', err: error },
      isFull ? 'the journal cannot be written: the disk is full' : 'the journal cannot be written',
    )
  }

  /** Releases the reserve and takes another file. False: that was done since the last commit, and did not help. */
  makeRoom(): boolean {
    const { reserve } = this.#options
    // Other journals have the same reserve: one of them may have allocated it again meanwhile.
    if (this.#madeRoom && reserve?.held !== true) return false
    this.#madeRoom = true
    reserve?.release()
    this.#options.avoidFile()
    return true
  }

  /** A commit succeeded. */
  committed(): void {
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
    const { distrustsSync, rewrite, reserve, commit, log } = this.#options
    if (this.#error !== null) commit()
    if (distrustsSync()) await rewrite()
    if (this.#error === null) await reserve?.allocate()
    if (this.refuses) return this.retryLater()
    this.#retryMs = RETRY_MIN_MS
    log.info({ event: 'journal.recovered' }, 'the journal takes records again')
  }
}
