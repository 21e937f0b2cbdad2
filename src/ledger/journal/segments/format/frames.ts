import { crc32 } from 'node:zlib'

/**
 * Frames, the pieces a segment consists of, all numbers little endian:
 *
 * `magic u32 | checksum u32 | length u32 | kind u8 | payload`
 *
 * `length` is that of the payload. The checksum is CRC-32 of everything behind it, seeded for its segment.
 */
export const FRAME_HEADER_BYTES = 13
/** Offsets of the fields in the header. */
export const FRAME_CHECKSUM_AT = 4
export const FRAME_LENGTH_AT = 8
export const FRAME_KIND_AT = 12

/** In the payload of a record, before its body. */
export const CLOSE_NUMBERS_BYTES = 24

/** On disk FF 54 47 FE. FF and FE never occur in UTF-8, so no text of a client can look like the start of a frame. */
export const FRAME_MAGIC = 0xfe_47_54_ff
export const FRAME_MAGIC_BYTES: Uint8Array = Uint8Array.of(0xff, 0x54, 0x47, 0xfe)

/** The version of the segments' format, in every `begin`. */
export const SEGMENT_VERSION = 1

export const FRAME_KINDS = {
  begin: 1,
  open: 2,
  snapshot: 3,
  close: 4,
  discard: 5,
  carried: 6,
  pruned: 7,
  synced: 8,
} as const

/** The bits of a `begin`'s last byte before its stream. */
export const BEGIN_FLAGS = { isTailLost: 1, rewrites: 2 } as const

/** A place in the log: a segment and a byte in it. */
export interface LogPosition {
  readonly segment: number
  readonly position: number
}

/** The first frame of every segment: where it continues from, and what the log had come to by then. */
export interface SegmentBegin {
  readonly version: number
  /** Random, the same in all segments of a journal: frames of another journal are not believed. */
  readonly salt: number
  /** The log is read up to here, then goes on with this segment. What else stands behind it is not part of the log. */
  readonly previousEnd: LogPosition
  /**
   * The frames behind `previousEnd` might not be on the disk: this segment has them once more. `nextSequence`,
   * `bytesTotal` and `discards` are those of `previousEnd`.
   */
  readonly rewrites: boolean
  /** Segments below it are not needed any more. */
  readonly firstSegment: number
  /** The number the next call gets that is opened. */
  readonly nextCall: number
  /** The number the next record gets. */
  readonly nextSequence: number
  /** Bytes of all bodies before this segment. */
  readonly bytesTotal: number
  readonly prunedTo: number
  /** Calls that were discarded before this segment. */
  readonly discards: number
  /** Which numbers were used before this segment is not known: nothing may be numbered. */
  readonly isTailLost: boolean
  /** The full key of the stream the records go to. */
  readonly stream: string
}

/** The proof of a sync that succeeded, and the state of the log when it was written down. */
export interface SyncProof {
  /** Everything before this place survives power loss. */
  readonly synced: LogPosition
  /** The highest sequence before this frame, not before `synced`. So are the other counts. */
  readonly last: number
  /** The number the next call gets that is opened. */
  readonly nextCall: number
  readonly discards: number
}

interface FramePlace {
  /** Its first byte, and the one behind its last, in the segment. */
  readonly at: number
  readonly end: number
}

/** A frame as it was read. `call` is the number of an open call within its journal; 0: none. */
export type Frame = FramePlace &
  (
    | { readonly kind: 'begin'; readonly begin: SegmentBegin }
    | { readonly kind: 'open'; readonly call: number; readonly text: string }
    | { readonly kind: 'snapshot'; readonly call: number; readonly text: string }
    | CloseFrame
    | { readonly kind: 'discard'; readonly call: number }
    | {
        readonly kind: 'carried'
        readonly call: number
        readonly text: string
        readonly snapshot: string | null
      }
    | { readonly kind: 'pruned'; readonly sequence: number; readonly firstSegment: number }
    | { readonly kind: 'synced'; readonly proof: SyncProof }
  )

/** A record. Its body is not decoded: most readers of a log do not need it. */
export interface CloseFrame {
  readonly kind: 'close'
  readonly call: number
  readonly sequence: number
  readonly bytesTotal: number
  /** The body's first byte; it reaches to the frame's end. */
  readonly bodyAt: number
}

const WORD = 2 ** 32

/** Writes a whole number from 0 to `Number.MAX_SAFE_INTEGER`, as 8 bytes. */
export function putNumber(view: DataView, at: number, value: number): void {
  view.setUint32(at, value, true) // What is above 32 bits is cut off.
  view.setUint32(at + 4, value / WORD, true)
}

/** Reads what `putNumber` wrote. */
export function getNumber(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * WORD
}

/**
 * The start of the checksums in a segment: a frame that was copied from another segment, or is left of another
 * journal's file, is not believed.
 *
 * @param salt the journal's; 0 for the frame `begin`, which tells it.
 */
export function checksumSeed(segment: number, salt: number): number {
  const numbers = Buffer.alloc(8)
  numbers.writeUInt32LE(segment, 0)
  numbers.writeUInt32LE(salt, 4)
  return crc32(numbers)
}

/** The start of the checksum of a frame at `position`: one that stands somewhere else is not believed. */
export function placedSeed(seed: number, position: number): number {
  return (seed ^ position) >>> 0
}

const SEGMENT_NAME = /^(\d{8,10})\.log$/

/** A segment's file in its producer's folder. Segments are numbered 1, 2, 3, ... in the order of the log. */
export function segmentName(segment: number): string {
  return `${segment.toString().padStart(8, '0')}.log`
}

/** The numbers of the segments among the names of a folder, rising. */
export function segmentNumbers(names: readonly string[]): number[] {
  const numbers = names.map((name) => Number(SEGMENT_NAME.exec(name)?.[1] ?? 0))
  return numbers.filter((number) => number > 0).sort((a, b) => a - b)
}
