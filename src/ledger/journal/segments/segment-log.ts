import { join } from 'node:path'
import { FrameWriter } from './format/frame-writer.ts'
import { type LogPosition, SEGMENT_VERSION, type SegmentBegin, segmentName } from './format/frames.ts'
import type { LogDisk } from './log-disk.ts'
import { LogSegment, SegmentFile } from './log-segment.ts'
import { RecordIndex } from './record-index.ts'

/** A segment of this length is followed by the next: what an adopter reads at once, and what is deleted at once. */
export const SEGMENT_BYTES = 8 * 1024 * 1024

/** The state that a log has come to. */
export interface LogCounts {
  /** The highest sequence, and the bytes of all bodies up to it. */
  last: number
  bytesTotal: number
  prunedTo: number
  /** The number the next call gets that is opened. */
  nextCall: number
  discards: number
  /** Segments below it are not needed any more. */
  firstSegment: number
}

export interface SegmentLogOptions {
  readonly folder: string
  readonly disk: LogDisk
  readonly segmentBytes: number
  readonly salt: number
  readonly stream: string
  readonly isTailLost: boolean
}

/** After a file that could not be created. */
const RETRY_MS = 1_000

/** The file of the segment that comes next: made ahead of need, so that a switch costs no wait for the disk. */
class NextSegment {
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

/** The segments of one journal: frames are appended to the newest, which is followed by another when it is long. */
export class SegmentLog {
  readonly options: SegmentLogOptions
  readonly frames: FrameWriter
  readonly counts: LogCounts
  readonly #next: NextSegment
  #segments: LogSegment[]
  #current: LogSegment
  #highest: number
  /** The disk refused a write to the current segment: another one may be taken. */
  #wantsOther = false
  /** A segment's name may not be on the disk yet. */
  isFolderDirty = false

  /** @param segments of which the last is written. */
  private constructor(options: SegmentLogOptions, counts: LogCounts, segments: LogSegment[]) {
    const current = segments.at(-1)
    if (current === undefined) throw new Error('a log has at least one segment')
    this.options = options
    this.counts = counts
    this.frames = new FrameWriter(current.number, options.salt)
    this.#next = new NextSegment(options.disk, options.folder)
    this.#segments = segments
    this.#current = current
    this.#highest = current.number
  }

  /** A new log. Throws when its first segment cannot be written. */
  static create(options: SegmentLogOptions): SegmentLog {
    const counts = { last: 0, bytesTotal: 0, prunedTo: 0, nextCall: 1, discards: 0, firstSegment: 1 }
    const path = join(options.folder, segmentName(1))
    const file = new SegmentFile(options.disk, 1, options.disk.create(path))
    const log = new SegmentLog(options, counts, [new LogSegment(1, path, new RecordIndex(0, 0), file)])
    log.isFolderDirty = true
    log.frames.begin(log.beginning({ segment: 0, position: 0 }, counts))
    log.append()
    return log
  }

  /** A log that was read. All of it survives power loss. */
  static reopen(options: SegmentLogOptions, counts: LogCounts, segments: LogSegment[]): SegmentLog {
    return new SegmentLog(options, counts, segments)
  }

  /** Oldest first. */
  get segments(): readonly LogSegment[] {
    return this.#segments
  }

  get current(): LogSegment {
    return this.#current
  }

  /** The place of the next frame. */
  get end(): LogPosition {
    return { segment: this.#current.number, position: this.#current.bytes }
  }

  /** Begins the frames of a write. They belong to a new segment when the one before is long enough. */
  start(): void {
    const { segmentBytes } = this.options
    const { bytes } = this.#current
    if (bytes >= segmentBytes / 2 && this.#next.isWanted) void this.#next.prepare(++this.#highest)
    if (bytes >= segmentBytes || this.#wantsOther) this.#switch()
    this.frames.clear(this.#current.bytes)
  }

  /** Writes the frames. Throws when the disk refuses: nothing of them is written. */
  append(): void {
    if (this.#current.file === null) throw new Error('the log is closed')
    this.#current.file.append(this.frames.buffer, this.frames.length)
  }

  /** The disk refused a write: what comes next is tried in another file. */
  avoidCurrent(): void {
    this.#wantsOther = true
  }

  /** The `begin` of a segment that follows `previousEnd`, where the log had come to `at`. */
  beginning(previousEnd: LogPosition, at: Pick<LogCounts, 'last' | 'bytesTotal' | 'discards'>): SegmentBegin {
    const { salt, stream, isTailLost } = this.options
    const { prunedTo, nextCall, firstSegment } = this.counts
    return {
      version: SEGMENT_VERSION,
      salt,
      previousEnd,
      rewrites: false,
      firstSegment,
      nextCall,
      nextSequence: at.last + 1,
      bytesTotal: at.bytesTotal,
      prunedTo,
      discards: at.discards,
      isTailLost,
      stream,
    }
  }

  /** A number that no segment has. */
  takeNumber(): number {
    return ++this.#highest
  }

  /** From now on the log consists of these; the last is written. */
  replace(segments: LogSegment[], current: LogSegment): void {
    this.#segments = [...segments, current]
    this.#current = current
    this.frames.useSegment(current.number, this.options.salt)
  }

  /** Segments below `first` are gone. */
  dropBelow(first: number): void {
    this.#segments = this.#segments.filter(({ number }) => number >= first)
  }

  /** Closes all files. */
  async close(): Promise<void> {
    await this.#next.close()
    for (const segment of this.#segments) segment.close()
  }

  #switch(): void {
    const file = this.#takePrepared() ?? (this.#wantsOther ? this.#createNow() : null)
    this.#wantsOther = false
    if (file === null) return
    const { frames, counts } = this
    frames.clear()
    frames.useSegment(file.number, this.options.salt)
    frames.begin(this.beginning(this.end, counts))
    try {
      file.append(frames.buffer, frames.length)
    } catch {
      // The segment before goes on growing. A beginning that nothing follows must not be found.
      file.close()
      this.#remove(file.number)
      frames.useSegment(this.#current.number, this.options.salt)
      return
    }
    this.#current.index.seal()
    const path = join(this.options.folder, segmentName(file.number))
    const index = new RecordIndex(counts.last, counts.bytesTotal)
    this.#current = new LogSegment(file.number, path, index, file)
    this.#segments.push(this.#current)
  }

  /** One that was made before the current segment is not its successor: segments are in the order of their numbers. */
  #takePrepared(): SegmentFile | null {
    const file = this.#next.take()
    if (file === null || file.number > this.#current.number) return file
    file.close()
    this.#remove(file.number)
    return null
  }

  #remove(number: number): void {
    const { disk, folder } = this.options
    try {
      disk.remove(join(folder, segmentName(number)))
    } catch {
      // The part of it that was written was cut, too.
    }
  }

  /** `null`: the disk does not even take a name. */
  #createNow(): SegmentFile | null {
    const { disk, folder } = this.options
    const number = this.takeNumber()
    try {
      const file = new SegmentFile(disk, number, disk.create(join(folder, segmentName(number))))
      this.isFolderDirty = true
      return file
    } catch {
      return null
    }
  }
}
