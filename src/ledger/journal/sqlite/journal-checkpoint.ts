import { withinDeadline } from '../../../lib/deadline.ts'
import type { Logger } from '../../../lib/logger.ts'
import type { JournalWork } from './thread/journal-work.ts'

/**
 * 32 MiB of frames, each a page of 4 KiB and its header: so seldom that the short pause at a checkpoint's end is
 * not seen at the 99th percentile, and little to read for an adopter.
 */
const MAX_WAL_FRAMES = 8_000
/** So few frames are moved in the time of a sync or two: for these commits may wait. */
export const FEW_FRAMES = 128
const PASSIVE_ROUNDS = 4
/** A checkpoint that holds up commits for longer lets them go on, and is tried again with the next sync. */
const PAUSE_LIMIT_MS = 5_000
/** Moving 32 MiB on a disk that is next to unusable. */
const PASSIVE_LIMIT_MS = 30_000
/** After a checkpoint that failed. */
const RETRY_MS = 5_000

export interface JournalCheckpointOptions {
  readonly path: string
  readonly work: Pick<JournalWork, 'checkpoint'>
  readonly log: Logger
  /** The WAL's length now. */
  readonly walFrames: () => number
  /** The highest sequence committed. */
  readonly committed: () => number
  /** The thread's connection must be let in. */
  readonly begins: () => void
  /** It is done: others may be kept out, and commits may go on. */
  readonly ended: () => void
  /** Everything at or under `sequence` is on the disk. */
  readonly synced: (sequence: number) => void
}

/**
 * Decides when a journal's WAL goes into its database and begins anew. The work is done in the thread: most of it
 * beside commits, the small rest while they wait. The loop never does.
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
   * A sync of the WAL failed. The kernel reports that once and then takes the pages for clean, so that later
   * syncs prove nothing: only a checkpoint, which writes everything to another file, does.
   */
  get distrustsSync(): boolean {
    return this.#distrustsSync
  }

  distrustSync(): void {
    this.#distrustsSync = true
  }

  /** Begins a checkpoint when the WAL is long enough. */
  consider(): void {
    if (this.#running !== null || performance.now() < this.#notBeforeMs) return
    if (this.#options.walFrames() > MAX_WAL_FRAMES) void this.run()
  }

  /** Checkpoints now; resolves when it was done or has failed. */
  run(): Promise<void> {
    return this.#begin('restart')
  }

  /** Gives the room of the WAL back to a full disk; commits wait from now on until it was tried. */
  async makeRoom(): Promise<void> {
    this.#pausesCommits = true
    await this.#running
    this.#pausesCommits = true
    await this.#begin('truncate')
  }

  /** Resolves when none is under way. */
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
      log.warn({ err: error }, 'a checkpoint of the journal failed; its WAL grows until one succeeds')
    } finally {
      this.#pausesCommits = false
      ended()
    }
  }
}
