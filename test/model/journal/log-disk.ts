import type { Random } from '../faults/random.ts'
import { type Frame, isBefore, type LogPosition, type Segment, syncedEnd } from './segment.ts'

/** How long each segment was when a sync began. */
export type Lengths = ReadonlyMap<number, number>

/**
 * The files of one log, as a file system keeps them. A process that is killed loses nothing that it wrote, but what
 * it was just writing may be torn. Power loss takes any part of what was not synced, in any order.
 */
export class LogDisk {
  segments: readonly Segment[] = []
  /** Segments that were deleted, which power loss may bring back. */
  #deleted: readonly Segment[] = []
  #numbers = 0
  /** What stands before it was synced, and a frame that survives says so. */
  #vouchedFor: LogPosition = { segment: 0, index: 0 }
  /** The last position that was garbled. */
  #garbled: LogPosition = { segment: 0, index: 0 }

  get current(): Segment | undefined {
    return this.segments.at(-1)
  }

  /** The number that the next segment gets. */
  get nextNumber(): number {
    return this.#numbers + 1
  }

  /** Where the next frame will stand. */
  get end(): LogPosition {
    const { current } = this
    return { segment: current?.number ?? 0, index: current?.frames.length ?? 0 }
  }

  create(frames: readonly (Frame | null)[]): Segment {
    const segment: Segment = {
      number: ++this.#numbers,
      frames: [...frames],
      durable: 0,
      isNamed: false,
      isDistrusted: false,
      cutOff: [],
    }
    this.segments = [...this.segments, segment]
    return segment
  }

  append(frame: Frame | null): void {
    this.current?.frames.push(frame)
  }

  lengths(): Lengths {
    return new Map(this.segments.map(({ number, frames }) => [number, frames.length]))
  }

  /** A sync ended that began when the segments had these lengths. */
  synced(lengths: Lengths, vouchedFor: LogPosition, older: boolean, names: boolean): void {
    this.#deleted = []
    this.#vouchedFor = vouchedFor
    for (const segment of older ? this.segments : this.segments.slice(-1)) {
      const length = lengths.get(segment.number)
      if (length === undefined) continue
      if (names) segment.isNamed = true
      if (segment.isDistrusted) continue
      segment.durable = Math.max(segment.durable, Math.min(length, segment.frames.length))
      segment.cutOff = []
    }
  }

  /** A sync failed: nothing that was not synced by then is synced by another. */
  distrust(): void {
    for (const segment of this.segments) segment.isDistrusted ||= segment.durable < segment.frames.length
  }

  /** The first frame of the newest segment, which is written last, is not there. */
  tearFirst(): void {
    if (this.current !== undefined) this.current.frames[0] = null
  }

  /** Two faults at once, a failed sync and a kill before the rest is written again, are not played. */
  trust(): void {
    for (const segment of this.segments) segment.isDistrusted = false
  }

  deleteBefore(first: number): void {
    this.#delete(({ number }) => number < first)
  }

  deleteAll(): void {
    this.#delete(() => true)
  }

  /** Nothing stands behind `end` any more. */
  cut(end: LogPosition): void {
    const known = syncedEnd(this.segments)
    this.#cut(end)
    const left = syncedEnd(this.segments)
    if (isBefore(left, known)) this.#vouchedFor = left
  }

  #cut(end: LogPosition): void {
    this.#delete(({ number }) => number > end.segment)
    const last = this.segments.find(({ number }) => number === end.segment)
    if (last === undefined || last.frames.length <= end.index) return
    last.cutOff = last.frames.slice(end.index)
    last.frames = last.frames.slice(0, end.index)
    last.durable = Math.min(last.durable, end.index)
  }

  #delete(isGone: (segment: Segment) => boolean): void {
    this.#deleted = [...this.#deleted, ...this.segments.filter(isGone)]
    this.segments = this.segments.filter((segment) => !isGone(segment))
  }

  /** Takes any part of what was not synced; what is left is on the disk. */
  losePower(random: Random): void {
    const back = this.#deleted.filter(() => random(2) === 0)
    this.segments = [...this.segments.filter(({ isNamed }) => isNamed || random(2) === 0), ...back].sort(
      (left, right) => left.number - right.number,
    )
    for (const segment of this.segments) losePart(segment, random)
    this.#deleted = []
    const known = syncedEnd(this.segments)
    if (isBefore(known, this.#vouchedFor)) this.#vouchedFor = known
  }

  /**
   * Garbles up to three frames in a row that were synced, or loses a segment. Not done where no frame says that they
   * were synced: that is taken for the tail that a power loss tore.
   *
   * @returns What was destroyed; empty: nothing was done.
   */
  garble(random: Random, whole: boolean): ReadonlySet<Frame> {
    const segment = this.segments[random(this.segments.length)]
    if (segment === undefined || segment.frames.length === 0) return new Set()
    const first = whole ? 0 : random(segment.frames.length)
    const end = whole ? segment.frames.length : Math.min(first + 1 + random(3), segment.frames.length)
    const frames = segment.frames.map((frame, at) => (at >= first && at < end ? null : frame))
    const last = later({ segment: segment.number, index: end - 1 }, this.#garbled)
    const known = syncedEnd(this.segments)
    const left = syncedEnd(this.segments.map((other) => (other === segment ? { ...segment, frames } : other)))
    if (!isBefore(last, this.#vouchedFor)) return new Set()
    if (isBefore(last, known) && !isBefore(last, left)) return new Set()
    this.#garbled = last
    // A disk may write at any time: what comes is not also what a power loss brings.
    for (const other of this.segments) {
      other.durable = other.frames.length
      other.isNamed = true
      other.cutOff = []
    }
    this.#deleted = []
    const gone = segment.frames.slice(first, end).filter((frame) => frame !== null)
    if (whole) this.segments = this.segments.filter((other) => other !== segment)
    else segment.frames = frames
    return new Set(gone)
  }
}

function later(left: LogPosition, right: LogPosition): LogPosition {
  return isBefore(left, right) ? right : left
}

function losePart(segment: Segment, random: Random): void {
  const { durable } = segment
  if (segment.cutOff.length > 0 && random(2) === 0) segment.frames = [...segment.frames, ...segment.cutOff]
  const written = segment.frames.length - durable
  if (random(2) === 0) segment.frames = segment.frames.slice(0, durable + random(written + 1))
  const lost = random(4)
  segment.frames = segment.frames.map((frame, at) => (at < durable || random(4) >= lost ? frame : null))
  segment.durable = segment.frames.length
  segment.isNamed = true
  segment.isDistrusted = false
  segment.cutOff = []
}
