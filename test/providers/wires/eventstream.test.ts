import { expect, test } from 'vitest'
import { createEventStreamReader } from '../../../src/providers/wires/eventstream.ts'
import { eventMessage, framed } from '../../fixtures/event-messages.ts'
import { cuts, lend } from './cuts.ts'

function read(chunks: readonly Uint8Array[], maxCollectedBytes?: number) {
  const messages: string[] = []
  const reader = createEventStreamReader(
    ({ messageType, eventType, payload }) =>
      messages.push(`${messageType}/${eventType}/${payload.toString()}`),
    maxCollectedBytes,
  )
  for (const chunk of chunks) lend(chunk, (borrowed) => reader.push(borrowed))
  return { messages, corrupt: reader.corrupt, skipped: reader.skipped }
}

const first = eventMessage({ ':event-type': 'chunk', ':message-type': 'event' }, '{"bytes":"é"}')
const empty = eventMessage({}, '')
const exception = eventMessage(
  { ':exception-type': 'throttlingException', ':message-type': 'exception' },
  '{"message":"slow down"}',
)
const error = eventMessage({ ':error-code': 'InternalError', ':message-type': 'error' }, '')

test('messages are the same wherever the bytes are cut', () => {
  const expected = [
    'event/chunk/{"bytes":"é"}',
    'event//',
    'exception/throttlingException/{"message":"slow down"}',
    'error/InternalError/',
  ]
  for (const chunks of cuts(Buffer.concat([first, empty, exception, error]))) {
    expect(read(chunks)).toEqual({ messages: expected, corrupt: false, skipped: 0 })
  }
})

test('headers of every type are passed over to the ones that are wanted', () => {
  const headers = Buffer.concat([
    Buffer.from([1, 0x61, 0]),
    Buffer.from([1, 0x62, 1]),
    Buffer.from([1, 0x63, 2, 9]),
    Buffer.from([1, 0x64, 3, 9, 9]),
    Buffer.from([1, 0x65, 4, 9, 9, 9, 9]),
    Buffer.from([1, 0x66, 5, ...Buffer.alloc(8)]),
    Buffer.from([1, 0x67, 6, 0, 2, 9, 9]),
    Buffer.from([1, 0x68, 8, ...Buffer.alloc(8)]),
    Buffer.from([1, 0x69, 9, ...Buffer.alloc(16)]),
    Buffer.from([11]),
    Buffer.from(':event-type'),
    Buffer.from([7, 0, 4]),
    Buffer.from('last'),
  ])
  expect(read([framed(headers, Buffer.from('{}'))]).messages).toEqual(['event/last/{}'])
})

test('any flipped bit stops the reading at that message and hands nothing wrong over', () => {
  const bytes = Buffer.concat([empty, first])
  for (let at = empty.length; at < bytes.length; at += 1) {
    const damaged = Buffer.from(bytes)
    damaged[at] = damaged.readUInt8(at) ^ 0x10
    const { messages, corrupt } = read([damaged, first])
    expect(messages).toEqual(['event//'])
    expect(corrupt).toBe(true)
  }
})

test('headers that make no sense, under right checksums, end the list of headers and throw nothing', () => {
  for (const headers of [
    Buffer.from([200, 1, 2]),
    Buffer.from([1, 0x61, 99]),
    Buffer.from([1, 0x61, 7, 0xff, 0xff]),
    Buffer.from([0]),
  ]) {
    expect(read([framed(headers, Buffer.from('x'))]).messages).toEqual(['event//x'])
  }
})

test('a message too large to be collected is passed over and the next is read', () => {
  const large = eventMessage({ ':event-type': 'chunk' }, 'x'.repeat(300))
  for (const chunks of cuts(Buffer.concat([first, large, first]))) {
    expect(read(chunks, 200)).toEqual({
      messages: ['event/chunk/{"bytes":"é"}', 'event/chunk/{"bytes":"é"}'],
      corrupt: false,
      skipped: 1,
    })
  }
})

test('a truncated stream gives what was whole', () => {
  const bytes = Buffer.concat([first, exception])
  for (let length = first.length; length < bytes.length; length += 1) {
    expect(read([bytes.subarray(0, length)])).toEqual({
      messages: ['event/chunk/{"bytes":"é"}'],
      corrupt: false,
      skipped: 0,
    })
  }
})
