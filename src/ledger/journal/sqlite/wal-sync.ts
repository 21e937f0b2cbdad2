import { closeSync, fdatasync, openSync } from 'node:fs'

/** A finished call waits at most this long for its sync; a busy gateway syncs this often. */
const SYNC_INTERVAL_MS = 25

/** `sequence`: every record at or under it survives power loss. */
export type OnSynced = (sequence: number) => void

/**
 * Calls `fdatasync` on a journal's WAL, off the event loop, while there is something to sync. The descriptor stays
 * open: SQLite keeps one WAL file as long as any connection is open. Closing a descriptor of the WAL drops no lock, as
 * closing one of `journal.db` would.
 */
export class WalSync {
  readonly #descriptor: number
  readonly #onSynced: OnSynced
  readonly #onError: (error: Error) => void
  #committed: number
  #dirty = false
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #closed = false

  /** @param committed the highest sequence that is in the journal already. */
  constructor(journalPath: string, committed: number, onSynced: OnSynced, onError: (error: Error) => void) {
    this.#descriptor = openSync(`${journalPath}-wal`, 'r')
    this.#committed = committed
    this.#onSynced = onSynced
    this.#onError = onError
  }

  /** Something was committed; the highest sequence is now `committed`. */
  touch(committed: number): void {
    this.#committed = committed
    this.#dirty = true
    if (this.#timer === null && this.#running === null && !this.#closed) {
      this.#timer = setTimeout(() => void this.sync(), SYNC_INTERVAL_MS)
    }
  }

  /** Syncs what was committed before this call; resolves when that was tried. */
  async sync(): Promise<void> {
    while (this.#running !== null) await this.#running
    if (this.#closed || !this.#dirty) return
    this.#running = this.#fdatasync()
    await this.#running
  }

  /** Waits for the sync under way and closes the descriptor. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    while (this.#running !== null) await this.#running
    closeSync(this.#descriptor)
  }

  #fdatasync(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#dirty = false
    const upTo = this.#committed
    return new Promise((resolve) => {
      fdatasync(this.#descriptor, (error) => {
        this.#running = null
        if (error === null) this.#onSynced(upTo)
        else this.#onError(error)
        if (this.#dirty) this.touch(this.#committed)
        resolve()
      })
    })
  }
}
