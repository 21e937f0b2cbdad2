import { statfs } from 'node:fs/promises'

/** The disk that has the journal of this process. */
export class JournalDisk {
  readonly #folder: string
  /** As of the last measuring; `null`: it was not measured, or cannot be. */
  last: { readonly bytes: number; readonly freeBytes: number } | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  async measure(): Promise<void> {
    const disk = await statfs(this.#folder).catch(() => null)
    this.last =
      disk === null ? null : { bytes: disk.bsize * disk.blocks, freeBytes: disk.bsize * disk.bavail }
  }
}
