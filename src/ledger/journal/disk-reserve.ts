import { randomBytes } from 'node:crypto'
import { unlinkSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'

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
