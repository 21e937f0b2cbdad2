import { expect, test } from 'vitest'
import { compileProjection } from '../../../src/providers/wires/json.ts'
import {
  createFrameReader,
  createFrameWatch,
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
    onMessage: (message) => {
      const isKept = message instanceof Uint8Array
      messages.push(
        isKept ? Buffer.from(message).toString() : `${JSON.stringify(message.value)} of ${message.raw}`,
      )
    },
    ...options,
  })
  for (const chunk of chunks) lend(chunk, (borrowed) => reader.push(borrowed))
  return { messages, finished: reader.finished }
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
      finished: false,
    })
  }
})

test('lengths of 64 KiB and more are read', () => {
  const text = 'y'.repeat(70_000)
  expect(read([frame(FINAL | TEXT, text), frame(FINAL | TEXT, 'z')]).messages).toEqual([text, 'z'])
})

test('of a message that is too large what is wanted is kept, however it is cut or packed', () => {
  const projection = compileProjection({ type: 'value', response: { usage: 'usage' }, turn: {} })
  const [x, usage] = ['x'.repeat(60), '{ "n": 1e400 }']
  const bytes = Buffer.concat([
    frame(FINAL | TEXT, `{"type":"a","x":"${x}${x}","response":{"x":"${x}","usage":${usage}}}`),
    frame(TEXT, `{"x":"${x}`),
    frame(CONTINUATION, '', Buffer.from([9, 8, 7, 6])),
    frame(FINAL | CONTINUATION, `${x}","turn":{"parts":[]}}`, Buffer.from([1, 2, 3, 250])),
    frame(FINAL | BINARY, `${x}${x}`),
    frame(FINAL | TEXT, 'small'),
  ])
  for (const chunks of cuts(bytes)) {
    expect(read(chunks, { maxMessageBytes: 110, projection })).toEqual({
      messages: [
        `{"type":"a","response":{"usage":{"n":null}}} of ${usage}`,
        '{"turn":{}} of null',
        'undefined of null',
        'small',
      ],
      finished: false,
    })
  }
})

test('a reader that keeps no messages hands over their pieces, and pings, however they are cut', () => {
  const bytes = Buffer.concat([
    frame(TEXT, 'one ', Buffer.from([1, 2, 3, 4])),
    frame(FINAL | PING, 'there?'),
    frame(FINAL | CONTINUATION, 'message'),
    frame(FINAL | PING, ''),
  ])
  for (const chunks of cuts(bytes)) {
    let [pieces, pings] = ['', '']
    const reader = createFrameReader({
      onPiece: (piece) => {
        pieces += piece
      },
      onPing: (payload) => {
        pings += `<${payload}>`
      },
      onEnd: () => {
        pieces += '.'
      },
    })
    for (const chunk of chunks) lend(chunk, (borrowed) => reader.push(borrowed))
    expect([pieces, pings]).toEqual(['one message.', '<there?><>'])
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
  let whole = 0
  const ends = [...before, close].map((one) => (whole += one.length))
  for (const step of [1, 2, 7, 1000, bytes.length]) {
    const watch = createFrameWatch()
    let seenAt = -1
    // Hundreds of thousands of places: an expectation of each takes longer than all else.
    const wrong: number[] = []
    for (let at = 0; at < bytes.length; at += step) {
      watch.push(bytes.subarray(at, at + step))
      const end = Math.min(at + step, bytes.length)
      if (watch.isClosed && seenAt === -1) seenAt = end
      if (watch.partialBytes !== end - (ends.findLast((one) => one <= end) ?? 0)) wrong.push(end)
    }
    expect(wrong).toEqual([])
    expect(seenAt).toBeGreaterThan(bytes.length - close.length)
  }
})

test('a reader is blind from the first bytes that are not a frame, also where they are compressed', () => {
  const open = () => createFrameReader({ maxMessageBytes: 100, onMessage: () => {} })
  const broken = open()
  broken.push(frame(FINAL | TEXT, 'x'.repeat(200)))
  expect(broken).toMatchObject({ blind: false })
  broken.push(Buffer.from([0x8f, 0]))
  expect(broken).toMatchObject({ finished: true, blind: true })
  const packed = open()
  packed.push(frame(FINAL | COMPRESSED | TEXT, 'x'.repeat(20)))
  expect(packed).toMatchObject({ finished: true, blind: true })
  const closed = open()
  closed.push(frame(FINAL | CLOSE, ''))
  expect(closed).toMatchObject({ finished: true, blind: false })
})
