import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Frame, LogPosition, SegmentBegin } from '../../src/ledger/journal/segments/format/frames.ts'
import { segmentName } from '../../src/ledger/journal/segments/format/frames.ts'
import { SegmentReader } from '../../src/ledger/journal/segments/format/segment-reader.ts'

export const SEGMENT_FILE = /^(\d{8,10})\.log$/

/** A segment of a dead producer's log, in memory. */
export interface DeadSegment {
  readonly number: number
  readonly path: string
  readonly bytes: Buffer
}

/** A frame of a log, and in which segment it stands; `body`: the record's text, of a `close`. */
export type PlacedFrame = Frame & { readonly segment: number; readonly body: string | null }

/** The segments in a folder, oldest first. Those that were made ahead of need are left out. */
export function readSegments(folder: string): DeadSegment[] {
  return readdirSync(folder)
    .filter((name) => SEGMENT_FILE.test(name))
    .map((name) => ({ number: Number.parseInt(name, 10), path: join(folder, name) }))
    .map(({ number, path }) => ({ number, path, bytes: readFileSync(path) }))
    .filter(({ bytes }) => bytes.length > 0)
    .sort((left, right) => left.number - right.number)
}

/**
 * The frames of a log, in order. Only the codec is the gateway's: which frames make up the log, and what they say, is
 * decided here once more. Bytes that make no frame are passed over.
 */
export function framesOf(segments: readonly DeadSegment[]): PlacedFrame[] {
  const begins = segments.flatMap(({ number, bytes }) => {
    const begin = beginOf(number, bytes)
    return begin === null ? [] : [{ number, begin }]
  })
  const salt = begins.at(-1)?.begin.salt ?? null
  return segments.flatMap((segment) => {
    const limit = limitOf(segment, begins)
    return framesIn(segment, salt).filter(({ at }) => at < limit)
  })
}

function beginOf(number: number, bytes: Buffer): SegmentBegin | null {
  const first = new SegmentReader(bytes, number, null).read(0)
  return first?.kind === 'begin' ? first.begin : null
}

/** Up to where it is part of the log: a later segment may continue the log before its end. */
function limitOf(
  { number }: DeadSegment,
  begins: readonly { readonly number: number; readonly begin: SegmentBegin }[],
): number {
  let limit = Number.POSITIVE_INFINITY
  for (const { number: later, begin } of begins) {
    const { segment, position } = begin.previousEnd
    if (later > number && segment <= number) limit = Math.min(limit, segment === number ? position : 0)
  }
  return limit
}

function framesIn({ number, bytes }: DeadSegment, salt: number | null): PlacedFrame[] {
  const reader = new SegmentReader(bytes, number, salt)
  const frames: PlacedFrame[] = []
  for (let at = reader.find(0); at !== null; ) {
    const frame = reader.read(at)
    if (frame === null) break
    const body = frame.kind === 'close' ? reader.text(frame.bodyAt, frame.end) : null
    frames.push({ ...frame, segment: number, body })
    at = reader.find(frame.end)
  }
  return frames
}

/** Where the log ends. */
export function endOf(segments: readonly DeadSegment[]): LogPosition {
  const newest = segments.at(-1)
  return { segment: newest?.number ?? 0, position: newest?.bytes.length ?? 0 }
}

/** Whether the frame ends at or before the position. */
export function isWithin({ segment, end }: PlacedFrame, position: LogPosition): boolean {
  return segment < position.segment || (segment === position.segment && end <= position.position)
}

/**
 * How far a log is synced at least: as far as it says itself, and as its shipped records stand in it, since nothing is
 * shipped before it is synced.
 */
export function syncedEnd(frames: readonly PlacedFrame[], shipped: number): LogPosition {
  let end: LogPosition = { segment: 0, position: 0 }
  const raise = (other: LogPosition) => {
    const isLater =
      other.segment > end.segment || (other.segment === end.segment && other.position > end.position)
    if (isLater) end = other
  }
  for (const frame of frames) {
    if (frame.kind === 'synced') raise(frame.proof.synced)
    if (frame.kind === 'close' && frame.sequence <= shipped)
      raise({ segment: frame.segment, position: frame.end })
  }
  return end
}

/** The bytes of a log behind a position, segment by segment. */
export function tailOf(segments: readonly DeadSegment[], { segment, position }: LogPosition) {
  return segments
    .filter(({ number }) => number >= segment)
    .map((tail) => ({ segment: tail, from: tail.number === segment ? position : 0 }))
    .filter(({ segment: { bytes }, from }) => from < bytes.length)
}

/** The log ends at the position, as if nothing behind it had reached the disk. */
export function cutLog(folder: string, segments: readonly DeadSegment[], end: LogPosition): void {
  for (const { number, path } of segments) if (number > end.segment) rmSync(path, { force: true })
  if (end.segment > 0) truncateSync(join(folder, segmentName(end.segment)), end.position)
}

export function writeSegments(segments: readonly DeadSegment[]): void {
  for (const { path, bytes } of segments) writeFileSync(path, bytes)
}
