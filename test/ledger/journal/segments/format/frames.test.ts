import { describe, expect, test } from 'vitest'
import { FrameWriter } from '../../../../../src/ledger/journal/segments/format/frame-writer.ts'
import type { Frame, SegmentBegin } from '../../../../../src/ledger/journal/segments/format/frames.ts'
import {
  type BadRegion,
  SegmentReader,
  scanSegment,
} from '../../../../../src/ledger/journal/segments/format/segment-reader.ts'

const SALT = 0xdeadbeef
const BEGIN: SegmentBegin = {
  version: 1,
  salt: SALT,
  previousEnd: { segment: 2, position: 2 ** 40 + 3 },
  rewrites: true,
  firstSegment: 2,
  nextCall: 2 ** 33,
  nextSequence: 2 ** 50 + 1,
  bytesTotal: 2 ** 44 + 5,
  prunedTo: 7,
  discards: 9,
  isTailLost: true,
  stream: 'pré:calls',
}
const PROOF = { synced: { segment: 3, position: 2 ** 34 + 1 }, last: 2 ** 50, nextCall: 12, discards: 4 }

/** One frame of each kind; calls and texts at the edges of what there may be. */
function smallSegment(): { bytes: Buffer; frames: Frame[] } {
  const writer = new FrameWriter(3, SALT)
  writer.begin(BEGIN)
  writer.open(1, '{"callId":"a"}')
  writer.open(2 ** 53 - 1, 'é\u{1f600}\ufeff\ud800')
  writer.snapshot(1, '')
  writer.discard(2 ** 53 - 1)
  writer.close(1, 2 ** 50 + 1, BEGIN.bytesTotal, '{"n":"ü"}')
  writer.carried(5, 'carriéd', null)
  writer.carried(6, 'carried', '')
  writer.carried(7, '', 'snapshöt')
  writer.pruned(2 ** 50, 3)
  writer.synced(PROOF)
  const bytes = Buffer.from(writer.buffer.subarray(0, writer.length))
  return { bytes, frames: framesOf(scan(bytes)) }
}

function scan(bytes: Buffer, segment = 3, salt = SALT): (Frame | BadRegion)[] {
  return [...scanSegment(new SegmentReader(bytes, segment, salt), 0, bytes.length)]
}

function framesOf(scanned: (Frame | BadRegion)[]): Frame[] {
  return scanned.filter((frame) => frame.kind !== 'bad')
}

test('every kind of frame is read as it was written', () => {
  const { bytes, frames } = smallSegment()
  expect(frames).toMatchObject([
    { at: 0, kind: 'begin', begin: BEGIN },
    { kind: 'open', call: 1, text: '{"callId":"a"}' },
    { kind: 'open', call: 2 ** 53 - 1, text: 'é\u{1f600}\ufeff\ufffd' },
    { kind: 'snapshot', call: 1, text: '' },
    { kind: 'discard', call: 2 ** 53 - 1 },
    { kind: 'close', call: 1, sequence: 2 ** 50 + 1, bytesTotal: 2 ** 44 + 15 },
    { kind: 'carried', call: 5, text: 'carriéd', snapshot: null },
    { kind: 'carried', call: 6, text: 'carried', snapshot: '' },
    { kind: 'carried', call: 7, text: '', snapshot: 'snapshöt' },
    { kind: 'pruned', sequence: 2 ** 50, firstSegment: 3 },
    { kind: 'synced', proof: PROOF, end: bytes.length },
  ])
  const close = frames[5]
  if (close?.kind !== 'close') throw new Error('no record')
  expect(new SegmentReader(bytes, 3, SALT).text(close.bodyAt, close.end)).toBe('{"n":"ü"}')
})

test('frames follow each other without a byte between, whatever the length of their texts', () => {
  const writer = new FrameWriter(1, SALT)
  const texts = Array.from({ length: 300 }, (_, index) => 'ä'.repeat(index * 97))
  for (const [index, text] of texts.entries()) writer.open(index + 1, text)
  const frames = framesOf(scan(writer.buffer.subarray(0, writer.length), 1))
  expect(frames).toMatchObject(texts.map((text, index) => ({ kind: 'open', call: index + 1, text })))
  writer.clear()
  expect(writer.length).toBe(0)
  writer.open(1, 'again')
  expect(framesOf(scan(writer.buffer.subarray(0, writer.length), 1))).toMatchObject([{ text: 'again' }])
})

describe('a frame is not believed', () => {
  test('a frame of another segment, another journal or without its salt is not believed', () => {
    const { bytes } = smallSegment()
    expect(framesOf(scan(bytes, 4))).toEqual([])
    expect(framesOf(scan(bytes, 3, 1)).map(({ kind }) => kind)).toEqual(['begin'])
    const unsalted = new SegmentReader(bytes, 3, null)
    expect(unsalted.read(0)).toMatchObject({ begin: BEGIN })
    expect([...scanSegment(unsalted, 0, bytes.length)]).toHaveLength(2)
  })

  test('a frame at another place of its segment is not believed', () => {
    const { bytes } = smallSegment()
    const moved = Buffer.concat([Buffer.alloc(1), bytes])
    expect(framesOf(scan(moved))).toEqual([])
  })

  test('a frame with any bit changed is not believed, and all others are', () => {
    const { bytes, frames } = smallSegment()
    for (let at = 0; at < bytes.length; at++) {
      for (const bit of [0, 3, 7]) {
        const garbled = Buffer.from(bytes)
        garbled.writeUInt8(garbled.readUInt8(at) ^ (1 << bit), at)
        const hit = frames.findIndex((frame) => at < frame.end)
        expect(framesOf(scan(garbled))).toEqual(frames.toSpliced(hit, 1))
      }
    }
  })

  test('a frame that is cut anywhere is a torn region up to the end, and those before it are read', () => {
    const { bytes, frames } = smallSegment()
    for (let length = 1; length < bytes.length; length++) {
      const whole = frames.filter(({ end }) => end <= length)
      const from = whole.at(-1)?.end ?? 0
      const region = { kind: 'bad', at: from, end: length, isTorn: true }
      expect(scan(bytes.subarray(0, length))).toEqual(from === length ? whole : [...whole, region])
    }
  })

  test('a frame that the text of a call imitates is not believed', () => {
    const imitated = new FrameWriter(1, SALT)
    imitated.close(1, 99, 0, '{}')
    const text = imitated.buffer.subarray(0, imitated.length).toString('latin1')
    const writer = new FrameWriter(1, SALT)
    writer.open(1, `${text}${text}`)
    writer.open(2, 'x')
    const bytes = Buffer.from(writer.buffer.subarray(0, writer.length))
    bytes.writeUInt8(0, 12) // The kind of the first frame.
    expect(framesOf(scan(bytes, 1))).toMatchObject([{ call: 2 }])
  })
})

describe('a bad region', () => {
  const texts = Array.from({ length: 8 }, (_, index) => `${index}`.repeat(1_000))
  const segment = (): Buffer => {
    const writer = new FrameWriter(1, SALT)
    for (const [index, text] of texts.entries()) writer.open(index + 1, text)
    return Buffer.from(writer.buffer.subarray(0, writer.length))
  }

  test('a bad region that a run of zeros made is torn, wherever the run begins and ends', () => {
    for (let from = 0; from < 4_096; from += 512) {
      for (let to = from + 512; to <= 4_608; to += 512) {
        const regions = scan(segment().fill(0, from, to), 1).filter(({ kind }) => kind === 'bad')
        expect(regions).toMatchObject([{ isTorn: true }])
      }
    }
  })

  test('a bad region that holds other bytes is not torn, and reading goes on behind it', () => {
    const scanned = scan(segment().fill(0xa5, 2_100, 4_000), 1)
    expect(scanned.map(({ kind }) => kind)).toEqual(['open', 'open', 'bad', 'open', 'open', 'open', 'open'])
    expect(scanned[2]).toMatchObject({ isTorn: false, at: 2_042, end: 4_084 })
  })

  test('a bad region is what a file lacks that is shorter than its successor says', () => {
    const bytes = segment()
    const reader = new SegmentReader(bytes, 1, SALT)
    const scanned = [...scanSegment(reader, 0, bytes.length + 10)]
    expect(scanned.at(-1)).toMatchObject({ kind: 'bad', isTorn: true, end: bytes.length + 10 })
  })

  test('a region is read in parts: positions are those in the segment', () => {
    const bytes = segment()
    const part = new SegmentReader(bytes.subarray(1_021), 1, SALT, 1_021)
    expect([...scanSegment(part, 1_021, bytes.length)]).toEqual(scan(bytes, 1).slice(1))
  })
})
