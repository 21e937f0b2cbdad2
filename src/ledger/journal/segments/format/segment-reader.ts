import { crc32 } from 'node:zlib'
import { decodeFrame } from './frame-decoder.ts'
import { checksumSeed, placedSeed } from './frame-numbers.ts'
import {
  FRAME_CHECKSUM_AT,
  FRAME_HEADER_BYTES,
  FRAME_KIND_AT,
  FRAME_KINDS,
  FRAME_LENGTH_AT,
  FRAME_MAGIC,
  FRAME_MAGIC_BYTES,
  type Frame,
} from './frames.ts'

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
