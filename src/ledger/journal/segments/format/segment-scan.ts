import { FRAME_HEADER_BYTES, type Frame } from './frames.ts'
import type { SegmentReader } from './segment-reader.ts'

/** Power loss may leave any of these pieces of a file unwritten, as zeros. */
const SECTOR_BYTES = 512

/** Bytes of a segment in which no frame stands. */
export interface BadRegion {
  readonly kind: 'bad'
  readonly at: number
  readonly end: number
  /** It begins as power loss would leave it: with a frame that the file's end or a run of zeros cuts. */
  readonly isTorn: boolean
}

/**
 * The frames of a segment from one position to another, in order, and what stands between them that is none.
 *
 * @param to may be behind the segment's end: what is missing is a bad region, too.
 */
export function* scanSegment(reader: SegmentReader, from: number, to: number): Generator<Frame | BadRegion> {
  let at = from
  while (at < to) {
    const frame = reader.read(at)
    if (frame !== null && frame.end <= to) {
      yield frame
      at = frame.end
      continue
    }
    const next = reader.find(at + 1)
    const end = next === null || next > to ? to : next
    yield { kind: 'bad', at, end, isTorn: isTorn(reader, at) }
    at = end
  }
}

/** Tells whether the frame that should stand at `position` is cut by the end of the file or by a run of zeros. */
function isTorn(reader: SegmentReader, position: number): boolean {
  const end = reader.statedEnd(position) ?? position + FRAME_HEADER_BYTES
  if (end > reader.end) return true
  let from = position
  while (from < end) {
    const sectorEnd = from - (from % SECTOR_BYTES) + SECTOR_BYTES
    const to = Math.min(sectorEnd, end)
    if (reader.isZero(from, to)) return true
    from = to
  }
  return false
}
