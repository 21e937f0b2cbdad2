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
  placedSeed,
  putNumber,
  type SegmentBegin,
  type SyncProof,
} from './frames.ts'

const FIRST_BYTES = 64 * 1024
/** More than this is not kept for the next turn. */
const KEPT_BYTES = 1024 * 1024
/** Room for the numbers of any payload, beside its texts. */
const NUMBERS_BYTES = 80
/** UTF-8 has at most so many bytes for each UTF-16 unit. */
const BYTES_A_UNIT = 3

/** Builds the frames of one write in memory that is used again and again. Each method adds one frame. */
export class FrameWriter {
  #segment: number
  #seed: number
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #view = new DataView(this.#buffer.buffer)
  #length = 0
  #position = 0

  /** @param salt the journal's. */
  constructor(segment: number, salt: number) {
    this.#segment = segment
    this.#seed = checksumSeed(segment, salt)
  }

  /** The frames; valid until more is added. */
  get buffer(): Buffer {
    return this.#buffer
  }

  /** Bytes of all frames so far. */
  get length(): number {
    return this.#length
  }

  /** Drops all frames. The next ones will stand at `position` of their segment, and are believed nowhere else. */
  clear(position = 0): void {
    this.#position = position
    this.#length = 0
    if (this.#buffer.length > KEPT_BYTES) this.#allocate(FIRST_BYTES)
  }

  /** The frames from now on belong to this segment. */
  useSegment(segment: number, salt: number): void {
    this.#segment = segment
    this.#seed = checksumSeed(segment, salt)
  }

  begin(begin: SegmentBegin): void {
    const at = this.#start(FRAME_KINDS.begin, begin.stream.length)
    const view = this.#view
    view.setUint16(at, begin.version, true)
    view.setUint32(at + 2, begin.salt, true)
    view.setUint32(at + 6, begin.firstSegment, true)
    view.setUint32(at + 10, begin.previousEnd.segment, true)
    putNumber(view, at + 14, begin.previousEnd.position)
    putNumber(view, at + 22, begin.nextCall)
    putNumber(view, at + 30, begin.nextSequence)
    putNumber(view, at + 38, begin.bytesTotal)
    putNumber(view, at + 46, begin.prunedTo)
    putNumber(view, at + 54, begin.discards)
    view.setUint8(
      at + 62,
      (begin.isTailLost ? BEGIN_FLAGS.isTailLost : 0) | (begin.rewrites ? BEGIN_FLAGS.rewrites : 0),
    )
    this.#finish(at + 63 + this.#buffer.write(begin.stream, at + 63), checksumSeed(this.#segment, 0))
  }

  open(call: number, text: string): void {
    this.#addText(FRAME_KINDS.open, call, text)
  }

  snapshot(call: number, text: string): void {
    this.#addText(FRAME_KINDS.snapshot, call, text)
  }

  /**
   * A record, which is open no longer.
   *
   * @param bytesBefore of all bodies before this one.
   * @returns of all bodies with this one.
   */
  close(call: number, sequence: number, bytesBefore: number, body: string): number {
    const at = this.#start(FRAME_KINDS.close, body.length)
    const bytes = this.#buffer.write(body, at + CLOSE_NUMBERS_BYTES)
    const bytesTotal = bytesBefore + bytes
    putNumber(this.#view, at, call)
    putNumber(this.#view, at + 8, sequence)
    putNumber(this.#view, at + 16, bytesTotal)
    this.#finish(at + CLOSE_NUMBERS_BYTES + bytes, this.#seed)
    return bytesTotal
  }

  discard(call: number): void {
    const at = this.#start(FRAME_KINDS.discard, 0)
    putNumber(this.#view, at, call)
    this.#finish(at + 8, this.#seed)
  }

  /** An open call again, so that the segment that has it may go. */
  carried(call: number, text: string, snapshot: string | null): void {
    const at = this.#start(FRAME_KINDS.carried, text.length + (snapshot?.length ?? 0))
    const bytes = this.#buffer.write(text, at + 13)
    putNumber(this.#view, at, call)
    this.#view.setUint8(at + 8, snapshot === null ? 0 : 1)
    this.#view.setUint32(at + 9, bytes, true)
    const end = at + 13 + bytes
    this.#finish(snapshot === null ? end : end + this.#buffer.write(snapshot, end), this.#seed)
  }

  /** Records up to `sequence`, and segments below `firstSegment`, are not needed any more. */
  pruned(sequence: number, firstSegment: number): void {
    const at = this.#start(FRAME_KINDS.pruned, 0)
    putNumber(this.#view, at, sequence)
    this.#view.setUint32(at + 8, firstSegment, true)
    this.#finish(at + 12, this.#seed)
  }

  synced(proof: SyncProof): void {
    const at = this.#start(FRAME_KINDS.synced, 0)
    this.#view.setUint32(at, proof.synced.segment, true)
    putNumber(this.#view, at + 4, proof.synced.position)
    putNumber(this.#view, at + 12, proof.last)
    putNumber(this.#view, at + 20, proof.nextCall)
    putNumber(this.#view, at + 28, proof.discards)
    this.#finish(at + 36, this.#seed)
  }

  #addText(kind: number, call: number, text: string): void {
    const at = this.#start(kind, text.length)
    putNumber(this.#view, at, call)
    this.#finish(at + 8 + this.#buffer.write(text, at + 8), this.#seed)
  }

  /** Makes room for a frame with `units` of text; returns where its payload begins. */
  #start(kind: number, units: number): number {
    const needed = this.#length + FRAME_HEADER_BYTES + NUMBERS_BYTES + units * BYTES_A_UNIT
    if (needed > this.#buffer.length) this.#allocate(needed * 2)
    this.#view.setUint8(this.#length + FRAME_KIND_AT, kind)
    return this.#length + FRAME_HEADER_BYTES
  }

  #finish(end: number, seed: number): void {
    const at = this.#length
    this.#view.setUint32(at, FRAME_MAGIC, true)
    this.#view.setUint32(at + FRAME_LENGTH_AT, end - at - FRAME_HEADER_BYTES, true)
    const checksum = crc32(
      this.#buffer.subarray(at + FRAME_LENGTH_AT, end),
      placedSeed(seed, this.#position + at),
    )
    this.#view.setUint32(at + FRAME_CHECKSUM_AT, checksum, true)
    this.#length = end
  }

  #allocate(bytes: number): void {
    const buffer = Buffer.allocUnsafeSlow(bytes)
    this.#buffer.copy(buffer, 0, 0, this.#length)
    this.#buffer = buffer
    this.#view = new DataView(buffer.buffer)
  }
}
