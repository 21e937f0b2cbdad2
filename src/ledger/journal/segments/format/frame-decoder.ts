import { getNumber } from './frame-numbers.ts'
import {
  BEGIN_FLAGS,
  CLOSE_NUMBERS_BYTES,
  FRAME_HEADER_BYTES,
  FRAME_KINDS,
  type Frame,
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
export interface EncodedPayload {
  readonly kind: number | undefined
  readonly from: number
  readonly to: number
  readonly offset: number
}

/** The frame that the payload belongs to; `null`: it is of a kind, or a version, that this release does not know. */
export function decodeFrame(bytes: Buffer, view: DataView, payload: EncodedPayload): Frame | null {
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
