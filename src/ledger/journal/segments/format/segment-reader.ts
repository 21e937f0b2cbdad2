import { crc32 } from 'node:zlib'
import {
  BEGIN_FLAGS,
  CLOSE_NUMBERS_BYTES,
  checksumSeed,
  FRAME_CHECKSUM_AT,
  FRAME_HEADER_BYTES,
  FRAME_KIND_AT,
  FRAME_KINDS,
  FRAME_LENGTH_AT,
  FRAME_MAGIC,
  FRAME_MAGIC_BYTES,
  type Frame,
  getNumber,
  placedSeed,
  SEGMENT_VERSION,
  type SegmentBegin,
} from './frames.ts'

/** The bytes of each kind of payload before its text. */
const BEGIN_BYTES = 63
const TEXT_BYTES = 8
const CARRIED_BYTES = 13
const PRUNED_BYTES = 12
const SYNCED_BYTES = 36

/** A payload whose checksum is right: bytes `from` to `to`, which stand `offset` further on in their segment. */
interface EncodedPayload {
  readonly kind: number | undefined
  readonly from: number
  readonly to: number
  readonly offset: number
}

/** The frame that the payload belongs to; `null`: it is of a kind, or a version, that this release does not know. */
function decodeFrame(bytes: Buffer, view: DataView, payload: EncodedPayload): Frame | null {
  const { kind, from, to, offset } = payload
  const place = { at: offset + from - FRAME_HEADER_BYTES, end: offset + to }
  const size = to - from
  const call = size < TEXT_BYTES ? 0 : getNumber(view, from)
  switch (kind) {
    case FRAME_KINDS.begin:
      if (size < BEGIN_BYTES || view.getUint16(from, true) !== SEGMENT_VERSION) return null
      return { ...place, kind: 'begin', begin: decodeBegin(bytes, view, from, to) }
    case FRAME_KINDS.open:
      if (size < TEXT_BYTES) return null
      return { ...place, kind: 'open', call, text: bytes.toString('utf8', from + TEXT_BYTES, to) }
    case FRAME_KINDS.snapshot:
      if (size < TEXT_BYTES) return null
      return { ...place, kind: 'snapshot', call, text: bytes.toString('utf8', from + TEXT_BYTES, to) }
    case FRAME_KINDS.close: {
      if (size < CLOSE_NUMBERS_BYTES) return null
      const [sequence, bytesTotal] = [getNumber(view, from + 8), getNumber(view, from + 16)]
      return {
        ...place,
        kind: 'close',
        call,
        sequence,
        bytesTotal,
        bodyAt: offset + from + CLOSE_NUMBERS_BYTES,
      }
    }
    case FRAME_KINDS.discard:
      return size < TEXT_BYTES ? null : { ...place, kind: 'discard', call }
    case FRAME_KINDS.carried: {
      if (size < CARRIED_BYTES) return null
      const textAt = from + CARRIED_BYTES
      const textEnd = textAt + view.getUint32(from + 9, true)
      if (textEnd > to) return null
      const snapshot = view.getUint8(from + 8) === 0 ? null : bytes.toString('utf8', textEnd, to)
      return { ...place, kind: 'carried', call, text: bytes.toString('utf8', textAt, textEnd), snapshot }
    }
    case FRAME_KINDS.pruned: {
      if (size < PRUNED_BYTES) return null
      const firstSegment = view.getUint32(from + 8, true)
      return { ...place, kind: 'pruned', sequence: getNumber(view, from), firstSegment }
    }
    case FRAME_KINDS.synced: {
      if (size < SYNCED_BYTES) return null
      const synced = { segment: view.getUint32(from, true), position: getNumber(view, from + 4) }
      const [last, nextCall] = [getNumber(view, from + 12), getNumber(view, from + 20)]
      const discards = getNumber(view, from + 28)
      return { ...place, kind: 'synced', proof: { synced, last, nextCall, discards } }
    }
    default:
      return null
  }
}

function decodeBegin(bytes: Buffer, view: DataView, from: number, to: number): SegmentBegin {
  const flags = view.getUint8(from + 62)
  return {
    version: view.getUint16(from, true),
    salt: view.getUint32(from + 2, true),
    firstSegment: view.getUint32(from + 6, true),
    previousEnd: { segment: view.getUint32(from + 10, true), position: getNumber(view, from + 14) },
    nextCall: getNumber(view, from + 22),
    nextSequence: getNumber(view, from + 30),
    bytesTotal: getNumber(view, from + 38),
    prunedTo: getNumber(view, from + 46),
    discards: getNumber(view, from + 54),
    rewrites: (flags & BEGIN_FLAGS.rewrites) !== 0,
    isTailLost: (flags & BEGIN_FLAGS.isTailLost) !== 0,
    stream: bytes.toString('utf8', from + BEGIN_BYTES, to),
  }
}

/** Reads the frames of one segment out of bytes of it. Positions are those in the segment. */
export class SegmentReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  /** The segment's position of the first of `bytes`. */
  readonly #offset: number
  readonly #beginSeed: number
  readonly #seed: number

  /** @param salt the journal's; `null`: not known, and nothing but `begin` can be read. */
  constructor(bytes: Buffer, segment: number, salt: number | null, offset = 0) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#offset = offset
    this.#beginSeed = checksumSeed(segment, 0)
    this.#seed = salt === null ? -1 : checksumSeed(segment, salt)
  }

  /** The position behind the last byte that is here. */
  get end(): number {
    return this.#offset + this.#bytes.length
  }

  /** The frame at `position`; `null`: none stands there, or not all of it is here, or it is not as it was written. */
  read(position: number): Frame | null {
    const at = position - this.#offset
    const length = this.#lengthOf(at)
    if (length === null) return null
    const payload = at + FRAME_HEADER_BYTES
    const end = payload + length
    const kind = this.#bytes[at + FRAME_KIND_AT]
    const seed = kind === FRAME_KINDS.begin ? this.#beginSeed : this.#seed
    if (seed === -1 || end > this.#bytes.length) return null
    const checksum = crc32(this.#bytes.subarray(at + FRAME_LENGTH_AT, end), placedSeed(seed, position))
    if (checksum !== this.#view.getUint32(at + FRAME_CHECKSUM_AT, true)) return null
    return decodeFrame(this.#bytes, this.#view, { kind, from: payload, to: end, offset: this.#offset })
  }

  /** The end of the frame at `position` by its header, which may be garbled; `null`: no header stands there. */
  statedEnd(position: number): number | null {
    const length = this.#lengthOf(position - this.#offset)
    return length === null ? null : position + FRAME_HEADER_BYTES + length
  }

  /** The first position from `position` on where a whole frame stands; `null`: none. */
  find(position: number): number | null {
    let at = position - this.#offset
    for (;;) {
      at = this.#bytes.indexOf(FRAME_MAGIC_BYTES, at)
      if (at === -1) return null
      if (this.read(this.#offset + at) !== null) return this.#offset + at
      at++
    }
  }

  /** The text from one position to another, which `read` has found to be part of a frame. */
  text(from: number, to: number): string {
    return this.#bytes.toString('utf8', from - this.#offset, to - this.#offset)
  }

  /** Tells whether nothing but zeros stands from one position to another. */
  isZero(from: number, to: number): boolean {
    for (let at = from - this.#offset; at < to - this.#offset; at++) if (this.#bytes[at] !== 0) return false
    return true
  }

  #lengthOf(at: number): number | null {
    if (at < 0 || at + FRAME_HEADER_BYTES > this.#bytes.length) return null
    if (this.#view.getUint32(at, true) !== FRAME_MAGIC) return null
    return this.#view.getUint32(at + FRAME_LENGTH_AT, true)
  }
}

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
