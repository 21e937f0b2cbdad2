import type { RecordIndex } from './record-index.ts'
import type { SegmentFile } from './segment-file.ts'

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
