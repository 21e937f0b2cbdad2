import { randomBytes } from 'node:crypto'
import { unlinkSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import type { Journal, OnWritten } from './journal.ts'

/**
 * The state in which the journal of a dead producer was found. `ready`: may be opened. `damaged`: parts were lost; what
 * could be read is in its place. `in_use`: some process has it open although its liveness lock was free. `older`: of
 * release 0.1.0, which alone reads it. `newer`: written by a later release. `absent`: the folder has no journal.
 * `unreadable`: nothing in it could be read.
 */
export type Prepared = 'ready' | 'damaged' | 'in_use' | 'older' | 'newer' | 'absent' | 'unreadable'

/** A call that was under way when its producer died. */
export interface InterruptedRow {
  /** Names the row within its journal; rows are read in rising order. */
  readonly slot: number
  /** The call as `serialiseOpenCall` wrote it. */
  readonly call: string
  /** The last usage snapshot; `null`: none was saved. */
  readonly snapshot: string | null
}

/** The journal of a dead producer, opened by its adopter. */
export interface DeadJournal extends Journal {
  /** The full key of the stream that its records go to. */
  readonly stream: string
  /** Its end is unreadable: which numbers were used is not known, so nothing may be numbered. */
  readonly isTailLost: boolean
  /**
   * Calls, as they were written, that were under way or had ended: what says which of the two cannot be read. They may
   * have been counted, so they are not counted.
   */
  readonly doubted: readonly string[]
  /** So many calls were opened of which nothing can be read; those of them that ended have records that are missing. */
  readonly unknown: number
  /** Calls that were under way, with slots above `afterSlot`, in order. */
  selectInterrupted(afterSlot: number, maxRows: number): readonly InterruptedRow[]
  /** As `close`, for a call that was under way. */
  closeInterrupted(row: InterruptedRow, body: string, onWritten: OnWritten): void
}

/** Room for some thousand records: what the running calls of a busy gateway need to be closed. */
const RESERVE_BYTES = 4 * 1024 * 1024
/** Random, so that a file system that compresses or skips zeros really holds the space. */
const FILLING = randomBytes(256 * 1024)

/** Disk space held by a file. It is released when the disk is full, so that running calls can still be recorded. */
export class DiskReserve {
  readonly #path: string
  #held = false
  #allocating: Promise<boolean> | null = null

  constructor(path: string) {
    this.#path = path
  }

  get held(): boolean {
    return this.#held
  }

  /** Deletes the file. False: there was none. */
  release(): boolean {
    if (!this.#held) return false
    this.#held = false
    try {
      unlinkSync(this.#path)
      return true
    } catch {
      return false
    }
  }

  /** Writes the file if it is missing. False: the disk has no room for it yet. */
  allocate(): Promise<boolean> {
    if (this.#held) return Promise.resolve(true)
    this.#allocating ??= this.#write().finally(() => {
      this.#allocating = null
    })
    return this.#allocating
  }

  async #write(): Promise<boolean> {
    const part = `${this.#path}.part`
    try {
      const file = await open(part, 'w', 0o600)
      try {
        for (let bytes = 0; bytes < RESERVE_BYTES; bytes += FILLING.length) await file.writeFile(FILLING)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(part, this.#path)
      this.#held = true
    } catch {
      await rm(part, { force: true }).catch(() => {}) // The next try overwrites it.
    }
    return this.#held
  }
}

/** How journals are kept on disk: the one place that knows the format. */
export interface JournalStore {
  /**
   * Opens the journal in the folder of a new producer.
   *
   * @param stream the full key of the stream that its records go to.
   * @throws When the folder is not usable.
   */
  create(folder: string, stream: string, reserve: DiskReserve): Journal
  /**
   * Makes a dead producer's journal fit to be opened, off the event loop: the caller holds the folder's lock.
   * Rejects where another try, later, may do better.
   */
  prepare(folder: string): Promise<Prepared>
  /**
   * Opens a journal that `prepare` found `ready` or `damaged`.
   *
   * @throws When it cannot be read or written after all.
   */
  reopen(folder: string): DeadJournal
  /** Closes what was prepared and not opened. */
  stop(): void
}
