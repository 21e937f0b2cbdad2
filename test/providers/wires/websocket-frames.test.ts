import { expect, test } from 'vitest'
import {
  createCloseWatch,
  createFrameReader,
  type FrameReaderOptions,
} from '../../../src/providers/wires/websocket-frames.ts'
import { cuts, lend } from './cuts.ts'

const TEXT = 1
const BINARY = 2
const CONTINUATION = 0
const CLOSE = 8
const PING = 9

/** One frame, first byte with its flags; `mask` as clients must and servers must not. */
function frame(first: number, payload: string | Uint8Array, mask?: Buffer): Buffer {
  const bytes = Buffer.from(payload)
  const maskBit = mask ? 0x80 : 0
  let head: Buffer
  if (bytes.length < 126) head = Buffer.from([first, maskBit | bytes.length])
  else if (bytes.length < 65_536) {
    head = Buffer.from([first, maskBit | 126, 0, 0])
    head.writeUInt16BE(bytes.length, 2)
  } else {
    head = Buffer.alloc(10)
    head[0] = first
    head[1] = maskBit | 127
    head.writeBigUInt64BE(BigInt(bytes.length), 2)
  }
  if (!mask) return Buffer.concat([head, bytes])
  return Buffer.concat([head, mask, bytes.map((byte, i) => byte ^ (mask[i % 4] ?? 0))])
}

const FINAL = 0x80
const COMPRESSED = 0x40

function read(chunks: readonly Uint8Array[], options: Partial<FrameReaderOptions> = {}) {
  const messages: string[] = []
  const reader = createFrameReader({
    onMessage: (bytes) => messages.push(Buffer.from(bytes).toString()),
    ...options,
  })
  for (const chunk of chunks) lend(chunk, (borrowed) => reader.push(borrowed))
  return { messages, skipped: reader.skipped, finished: reader.finished }
}

test('messages are the same wherever the bytes are cut: masked, fragmented, control frames in between', () => {
  const bytes = Buffer.concat([
    frame(FINAL | TEXT, 'hällo'),
    frame(FINAL | BINARY, 'masked message', Buffer.from([1, 2, 3, 250])),
    frame(TEXT, 'frag'),
    frame(FINAL | PING, 'ping'),
    frame(CONTINUATION, 'men', Buffer.from([9, 8, 7, 6])),
    frame(FINAL | CONTINUATION, 'ted'),
    frame(FINAL | TEXT, ''),
    frame(FINAL | TEXT, 'x'.repeat(200)),
  ])
  for (const chunks of cuts(bytes)) {
    expect(read(chunks)).toEqual({
      messages: ['hällo', 'masked message', 'fragmented', '', 'x'.repeat(200)],
      skipped: 0,
      finished: false,
    })
  }
})

test('lengths of 64 KiB and more are read', () => {
  const text = 'y'.repeat(70_000)
  expect(read([frame(FINAL | TEXT, text), frame(FINAL | TEXT, 'z')]).messages).toEqual([text, 'z'])
})

test('a message too large is passed over, however it is cut or packed', () => {
  const bytes = Buffer.concat([
    frame(FINAL | TEXT, 'x'.repeat(300)),
    frame(TEXT, 'x'.repeat(60)),
    frame(FINAL | CONTINUATION, 'x'.repeat(60)),
    frame(FINAL | TEXT, 'small'),
  ])
  for (const chunks of cuts(bytes)) {
    expect(read(chunks, { maxMessageBytes: 110 })).toEqual({
      messages: ['small'],
      skipped: 2,
      finished: false,
    })
  }
})

test('a close frame, and anything the protocol forbids, ends the reading', () => {
  const forbidden = [
    frame(FINAL | CLOSE, Buffer.from([3, 232])),
    frame(FINAL | 0x20 | TEXT, 'reserved bit'),
    frame(FINAL | COMPRESSED | TEXT, 'compression was not agreed'),
    frame(FINAL | 0x3, 'reserved opcode'),
    frame(FINAL | 0xb, 'reserved control opcode'),
    frame(PING, 'control in fragments'),
    frame(FINAL | PING, 'x'.repeat(126)),
    frame(FINAL | CONTINUATION, 'nothing to continue'),
    Buffer.concat([frame(TEXT, 'a'), frame(FINAL | TEXT, 'b')]),
    Buffer.from([FINAL | BINARY, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
  ]
  for (const bytes of forbidden) {
    const { messages, finished } = read([frame(FINAL | TEXT, 'before'), bytes, frame(FINAL | TEXT, 'after')])
    expect(messages).toEqual(['before'])
    expect(finished).toBe(true)
  }
})

test('a close frame is seen behind frames of every length, however its bytes come, and not inside of one', () => {
  const masked = (opcode: number, bytes: Buffer): Buffer => {
    const { length } = bytes
    const size =
      length < 126
        ? [0x80 | length]
        : length < 65_536
          ? [0xfe, length >> 8, length & 0xff]
          : [0xff, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 0xff, length & 0xff]
    return Buffer.concat([Buffer.from([0x80 | opcode, ...size, 0, 0, 0, 0]), bytes])
  }
  const close = masked(8, Buffer.from([3, 232]))
  const before = [0, 5, 125, 126, 200, 65_535, 70_000].map((length) => masked(1, Buffer.alloc(length, close)))
  const bytes = Buffer.concat([...before, close])
  for (const step of [1, 2, 7, 1000, bytes.length]) {
    const sawClose = createCloseWatch()
    let seenAt = -1
    for (let at = 0; at < bytes.length; at += step) {
      if (sawClose(bytes.subarray(at, at + step)) && seenAt === -1) seenAt = Math.min(at + step, bytes.length)
    }
    expect(seenAt).toBeGreaterThan(bytes.length - close.length)
  }
})

test('a reader counts a message as lost that it passed over and that had figures, however that is cut', () => {
  const message = (usage: string) =>
    frame(FINAL | TEXT, `${'x'.repeat(150)}"usage":${usage}${'x'.repeat(150)}`)
  for (const [bytes, lost] of [
    [message('{"input_tokens":1}'), 1],
    [message('null'), 0],
  ] as const) {
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const reader = createFrameReader({
        maxMessageBytes: 100,
        onMessage: () => {},
      })
      reader.push(bytes.subarray(0, cut))
      reader.push(bytes.subarray(cut))
      expect([cut, reader.skipped]).toEqual([cut, 1])
      // Cut amid the word it may be taken for figures, never the other way.
      if (lost === 1 || cut < 150 || cut > 170) expect([cut, reader.lost]).toEqual([cut, lost])
      expect(reader.blind).toBe(false)
    }
  }
})

test('a reader is blind from the first bytes that are not a frame, also where they are compressed', () => {
  const open = () => createFrameReader({ maxMessageBytes: 100, onMessage: () => {} })
  const broken = open()
  broken.push(frame(FINAL | TEXT, 'x'.repeat(200)))
  expect(broken).toMatchObject({ skipped: 1, lost: 0, blind: false })
  broken.push(Buffer.from([0x8f, 0]))
  expect(broken).toMatchObject({ finished: true, blind: true })
  const packed = open()
  packed.push(frame(FINAL | COMPRESSED | TEXT, 'x'.repeat(20)))
  expect(packed).toMatchObject({ finished: true, blind: true })
  const closed = open()
  closed.push(frame(FINAL | CLOSE, ''))
  expect(closed).toMatchObject({ finished: true, blind: false })
})

test('a reader finds figures in each message that it passes over, not only in the first', () => {
  const large = (text: string) => frame(FINAL | TEXT, `${text}${'x'.repeat(200)}`)
  const reader = createFrameReader({ maxMessageBytes: 100, onMessage: () => {} })
  for (const bytes of [large(''), large('"usage":{}'), large(''), large('"usageMetadata":{}')]) {
    reader.push(bytes)
  }
  expect(reader).toMatchObject({ skipped: 4, lost: 2 })
})
