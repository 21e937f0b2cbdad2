import { expect, test } from 'vitest'
import { createEventStreamReader } from '../../../src/providers/wires/eventstream.ts'
import { createArraySplitter } from '../../../src/providers/wires/json-array.ts'
import { createLineSplitter } from '../../../src/providers/wires/ndjson.ts'
import { createFrameReader } from '../../../src/providers/wires/websocket-frames.ts'
import { bedrockChunk } from '../../fixtures/event-messages.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const random = seededRandom(6455)
const below = (limit: number): number => Math.floor(random() * limit)

/** Random bytes, or frames with some of their bytes changed. */
function hostileBytes(frames: Buffer): Buffer {
  if (below(3) === 0) return Buffer.from(Array.from({ length: below(400) }, () => below(256)))
  const bytes = Buffer.from(frames)
  for (let changes = below(6); changes > 0; changes -= 1) bytes[below(bytes.length)] = below(256)
  return bytes.subarray(0, below(bytes.length + 1))
}

/** Pushes `bytes` in random pieces. */
function pushed(bytes: Buffer, push: (piece: Buffer) => void): void {
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + 1 + below(60))
    push(bytes.subarray(at, end))
    at = end
  }
}

test('a frame reader never throws and hands over no message larger than it may, whatever the bytes', () => {
  const frames = Buffer.concat([
    Buffer.from([0x81, 5]),
    Buffer.from('hello'),
    Buffer.from([0x01, 0x83, 1, 2, 3, 4]),
    Buffer.from('abc'),
    Buffer.from([0x89, 0, 0x80, 126, 0, 3]),
    Buffer.from('xyz'),
  ])
  let messages = 0
  for (let round = 0; round < 3000; round += 1) {
    const reader = createFrameReader({
      maxMessageBytes: 200,
      onMessage(message) {
        messages += 1
        expect(message instanceof Uint8Array ? message.length : 0).toBeLessThanOrEqual(200)
      },
    })
    pushed(Buffer.concat([hostileBytes(frames), frames]), (piece) => reader.push(piece))
  }
  expect(messages).toBeGreaterThan(1000)
})

test('an event stream reader never throws and hands over only what has its checksums, whatever the bytes', () => {
  const frame = bedrockChunk({ generation: 'x' })
  const payload = frame.subarray(frame.indexOf('{'), frame.length - 4).toString()
  let messages = 0
  for (let round = 0; round < 3000; round += 1) {
    const reader = createEventStreamReader((message) => {
      messages += 1
      expect(message.payload.toString()).toBe(payload)
    })
    pushed(hostileBytes(Buffer.concat([frame, frame, frame])), (piece) => reader.push(piece))
  }
  expect(messages).toBeGreaterThan(500)
})

test('splitters of lines and arrays never throw, and hand over every byte of a line once', () => {
  const text = Buffer.from('[{"a":"\\"]"},{"b":[1,2]}]\n{"c":3}\r\n')
  for (let round = 0; round < 3000; round += 1) {
    const bytes = hostileBytes(text)
    const lines: string[] = []
    const sink = { whole: (line: Buffer) => void lines.push(line.toString('latin1')), piece: () => {} }
    const splitter = createLineSplitter(sink)
    const array = createArraySplitter({ whole: () => {}, piece: () => {} }, 8)
    pushed(bytes, (piece) => {
      splitter.push(piece)
      array.push(piece)
    })
    splitter.end()
    expect(lines).toEqual(
      bytes
        .toString('latin1')
        .split('\n')
        .filter((line) => line !== ''),
    )
  }
})

test('a message in a hundred thousand fragments is put together, in time and memory of its size', () => {
  const messages: number[] = []
  const reader = createFrameReader({
    onMessage: (message) => messages.push(message instanceof Uint8Array ? message.length : 0),
  })
  reader.push(Buffer.from([0x01, 1, 0x61]))
  const fragment = Buffer.from([0x00, 1, 0x61])
  for (let sent = 0; sent < 100_000; sent += 1) reader.push(fragment)
  reader.push(Buffer.from([0x80, 0]))
  expect(messages).toEqual([100_001])
})
