import type { LogDisk } from './log-disk.ts'
import type { RecordIndex } from './record-index.ts'

/** One segment that is written: frames are appended to it, all of a write or none. */
export class SegmentFile {
  readonly number: number
  readonly #disk: LogDisk
  readonly #descriptor: number
  #end = 0
  /** A write that failed may have left bytes behind `#end`. */
  #hasRest = false
  #isClosed = false

  /** @param descriptor of an empty file. */
  constructor(disk: LogDisk, number: number, descriptor: number) {
    this.#disk = disk
    this.number = number
    this.#descriptor = descriptor
  }

  /** The place of the next frame. */
  get end(): number {
    return this.#end
  }

  /** Appends the first `length` bytes. Throws when the disk does not take all of them: none of them stays. */
  append(bytes: Buffer, length: number): void {
    if (this.#hasRest) this.#cut()
    let written = 0
    try {
      while (written < length) {
        const count = this.#disk.write(
          this.#descriptor,
          bytes,
          written,
          length - written,
          this.#end + written,
        )
        if (count === 0) throw new Error('the disk took no byte of a write')
        written += count
      }
    } catch (error) {
      this.#hasRest = true
      this.#tryToCut()
      throw error
    }
    this.#end += length
  }

  /** Resolves when what was appended before survives power loss. */
  async sync(): Promise<void> {
    await this.#disk.sync(this.#descriptor)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#disk.close(this.#descriptor)
  }

  /** The log ends at `#end` again, so that no reader believes frames whose callers got an error. */
  #cut(): void {
    this.#disk.truncate(this.#descriptor, this.#end)
    this.#hasRest = false
  }

  #tryToCut(): void {
    try {
      this.#cut()
    } catch {
      // It is tried again before the next write.
    }
  }
}

/** A segment of a log that is open, whether it is written or only kept. */
export class LogSegment {
  readonly number: number
  readonly path: string
  readonly index: RecordIndex
  /** `null`: nothing is written to it any more, and all of it survives power loss. */
  file: SegmentFile | null
  /** Its length when `file` is `null`. */
  #bytes: number
  /** Calls under way whose text is here. */
  openCalls = 0

  constructor(number: number, path: string, index: RecordIndex, file: SegmentFile | null, bytes = 0) {
    this.number = number
    this.path = path
    this.index = index
    this.file = file
    this.#bytes = bytes
  }

  get bytes(): number {
    return this.file?.end ?? this.#bytes
  }

  /** Nothing is written to it any more, and all of it survives power loss or never has to. */
  close(): void {
    this.#bytes = this.bytes
    this.file?.close()
    this.file = null
  }
}
