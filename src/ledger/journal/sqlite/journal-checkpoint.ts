import { withinDeadline } from '../../../lib/deadline.ts'
import type { Logger } from '../../../lib/logger.ts'
import type { JournalWork } from './thread/journal-work.ts'

/**
 * 32 MiB of frames, each a page of 4 KiB and its header. Checkpoints are then so rare that their short pause does not
 * show at the 99th percentile, and an adopter has little to read.
 */
const MAX_WAL_FRAMES = 8_000
/** So few frames are moved in the time of a sync or two: commits may wait for that. */
export const FEW_FRAMES = 128
const PASSIVE_ROUNDS = 4
/** A checkpoint that holds up commits for longer is abandoned and tried again with the next sync. */
const PAUSE_LIMIT_MS = 5_000
/** The time to move 32 MiB on a disk that is almost unusable. */
const PASSIVE_LIMIT_MS = 30_000
/** After a checkpoint that failed. */
const RETRY_MS = 5_000

export interface JournalCheckpointOptions {
  readonly path: string
  readonly work: Pick<JournalWork, 'checkpoint'>
  readonly log: Logger
  /** The WAL's length now, in frames. */
  readonly walFrames: () => number
  /** The highest sequence committed. */
  readonly committed: () => number
  /** The thread's connection needs access. */
  readonly begins: () => void
  /** It has ended: other connections may be kept out, and commits may continue. */
  readonly ended: () => void
  /** Everything at or under `sequence` is on the disk. */
  readonly synced: (sequence: number) => void
}

/**
 * Decides when a journal's WAL is moved into its database and started again. The thread does the work: most of it
 * beside commits, the small rest while commits wait. The event loop never waits.
 */
export class JournalCheckpoint {
  readonly #options: JournalCheckpointOptions
  #running: Promise<void> | null = null
  #pausesCommits = false
  #distrustsSync = false
  #notBeforeMs = 0

  constructor(options: JournalCheckpointOptions) {
    this.#options = options
  }

  /** While true nothing may be written to the journal. */
  get pausesCommits(): boolean {
    return this.#pausesCommits
  }

  /**
   * A sync of the WAL failed. The kernel reports that once and then treats the pages as clean, so that a later sync
   * proves nothing. Only a checkpoint does, because it writes everything to another file.
   */
  get distrustsSync(): boolean {
    return this.#distrustsSync
  }

  distrustSync(): void {
    this.#distrustsSync = true
  }

  /** Starts a checkpoint when the WAL is long enough. */
  runIfDue(): void {
    if (this.#running !== null || performance.now() < this.#notBeforeMs) return
    if (this.#options.walFrames() > MAX_WAL_FRAMES) void this.run()
  }

  /** Checkpoints now; resolves when that succeeded or failed. */
  run(): Promise<void> {
    return this.#begin('restart')
  }

  /** Frees the space of the WAL on a full disk; commits wait from now on until that was tried. */
  async makeRoom(): Promise<void> {
    this.#pausesCommits = true
    await this.#running
    this.#pausesCommits = true
    await this.#begin('truncate')
  }

  /** Resolves when no checkpoint is under way. */
  async settled(): Promise<void> {
    await this.#running
  }

  #begin(mode: 'restart' | 'truncate'): Promise<void> {
    this.#running ??= this.#checkpoint(mode).finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #checkpoint(mode: 'restart' | 'truncate'): Promise<void> {
    const { path, work, log, begins, ended, committed, synced } = this.#options
    try {
      begins()
      for (let round = 0; round < PASSIVE_ROUNDS && !this.#pausesCommits; round++) {
        const { framesLeft } = await withinDeadline(work.checkpoint(path, 'passive'), PASSIVE_LIMIT_MS)
        if (framesLeft <= FEW_FRAMES) break
      }
      this.#pausesCommits = true
      const upTo = committed()
      const { framesLeft } = await withinDeadline(work.checkpoint(path, mode), PAUSE_LIMIT_MS)
      if (framesLeft > 0) throw new Error(`${framesLeft} frames could not be moved`)
      this.#distrustsSync = false
      synced(upTo)
    } catch (error) {
      this.#notBeforeMs = performance.now() + RETRY_MS
      log.warn(
        { event: 'journal.checkpoint_failed', err: error },
        'the journal could not be compacted; it grows until that succeeds',
      )
    } finally {
      this.#pausesCommits = false
      ended()
    }
  }
}
