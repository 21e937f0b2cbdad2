import { join } from 'node:path'
import { segmentName } from './format/segment-files.ts'
import type { LogDisk } from './log-disk.ts'
import { SegmentFile } from './segment-file.ts'

/** After a file that could not be created. */
const RETRY_MS = 1_000

/** The file of the segment that comes next: made ahead of need, so that a switch costs no wait for the disk. */
export class NextSegment {
  readonly #disk: LogDisk
  readonly #folder: string
  #file: SegmentFile | null = null
  #preparing: Promise<void> | null = null
  #notBeforeMs = 0
  #isClosed = false

  constructor(disk: LogDisk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  /** A file may be asked for: none is there or on its way. */
  get isWanted(): boolean {
    return (
      this.#file === null &&
      this.#preparing === null &&
      !this.#isClosed &&
      performance.now() >= this.#notBeforeMs
    )
  }

  /** Makes the file of segment `number`; resolves when it is there or could not be made. */
  prepare(number: number): Promise<void> {
    this.#preparing ??= this.#create(number).finally(() => {
      this.#preparing = null
    })
    return this.#preparing
  }

  /** The file, which is empty and whose name survives power loss; `null`: it is not there yet. */
  take(): SegmentFile | null {
    const file = this.#file
    this.#file = null
    return file
  }

  /** No file is needed any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#preparing
    const file = this.take()
    if (file === null) return
    file.close()
    await this.#disk.removeLater(join(this.#folder, segmentName(file.number))).catch(() => {}) // It is empty.
  }

  async #create(number: number): Promise<void> {
    let descriptor: number | null = null
    try {
      descriptor = await this.#disk.createLater(join(this.#folder, segmentName(number)))
      await this.#disk.syncFolder(this.#folder)
      this.#file = new SegmentFile(this.#disk, number, descriptor)
    } catch {
      if (descriptor !== null) this.#disk.close(descriptor)
      this.#notBeforeMs = performance.now() + RETRY_MS // The segment before goes on growing.
    }
  }
}
