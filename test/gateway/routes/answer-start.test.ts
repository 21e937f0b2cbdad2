import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { AnswerStart } from '../../../src/gateway/proxy/routed/answer-start.ts'
import { bedrockEvent, eventMessage } from '../../fixtures/event-messages.ts'

const OVERLOADED =
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'

function startOf(type: string, coding?: string): AnswerStart {
  const headers = { 'content-type': type, ...(coding === undefined ? {} : { 'content-encoding': coding }) }
  const start = AnswerStart.of(200, headers)
  if (start === null) throw new Error(`nothing is read of ${type}`)
  return start
}

/** The verdict, and after how many bytes, where the stream comes byte by byte. */
function bytewise(bytes: Buffer, type = 'text/event-stream', coding?: string) {
  const head = startOf(type, coding)
  for (let at = 0; at < bytes.length; at += 1) {
    const verdict = head.push(bytes.subarray(at, at + 1))
    if (verdict !== null) return verdict
  }
  return null
}

test.each([
  [OVERLOADED, '5xx'],
  [OVERLOADED.replaceAll('\n', '\r\n'), '5xx'],
  [`: ping\n\n${OVERLOADED}`, '5xx'],
  ['data: {"error":{"message":"The server had an error","type":"server_error","code":null}}\n\n', '5xx'],
  ['data: {"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}\n\n', '5xx'],
  ['data: {"error":{"type":"rate_limit_error"}}\n\n', '429'],
  ['data: {"error":"overloaded"}\n\n', '5xx'],
  ['data: {"error":{"type":"invalid_request_error","code":"context_length"}}\n\n', 'fine'],
  ['data: {"error":{"code":400,"message":"x"}}\n\n', 'fine'],
  ['event: error\ndata: {"type":"error","error":{"type":"authentication_error"}}\n\n', 'fine'],
  ['data: {"choices":[{"delta":{"content":"error"}}]}\n\n', 'fine'],
  ['data: [DONE]\n\n', 'fine'],
  ['event: message_start\ndata: {"type":"message_start"}\n\n', 'fine'],
  [': comments alone\n\n: and more\n\n', null],
  ['data: {"error":{"type":"overloaded_error"}}\n', null],
] as const)('a stream that begins with %j is %s', (text, verdict) => {
  expect(bytewise(Buffer.from(text))).toBe(verdict)
  expect(startOf('text/event-stream; charset=utf-8').push(Buffer.from(text))).toBe(verdict)
})

test('no more than 64 KiB are held for an event that does not end', () => {
  const head = startOf('text/event-stream')
  const chunk = Buffer.alloc(16 * 1024, 'x')
  expect([1, 2, 3, 4, 5].map(() => head.push(chunk))).toEqual([null, null, null, null, 'fine'])
})

test('what ends without an empty line is an event too', () => {
  const start = startOf('text/event-stream')
  expect([start.push(Buffer.from('data: {"error":{"type":"overloaded_error"}}\n')), start.end()]).toEqual([
    null,
    '5xx',
  ])
})

test.each([
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
] as const)('a stream that is coded in %s is read as it comes', (coding, encode) => {
  expect(bytewise(encode(OVERLOADED), 'text/event-stream', coding)).toBe('5xx')
  expect(startOf('text/event-stream', coding).push(encode('data: {"choices":[]}\n\n'))).toBe('fine')
  expect(startOf('text/event-stream', coding).push(Buffer.from(OVERLOADED))).toBe('fine')
  expect(startOf('text/event-stream', coding).push(encode(Buffer.alloc(10_000_000)))).toBe('fine')
})

test('what is coded otherwise, and what has another status, is shown as it comes', () => {
  const headers = { 'content-type': 'text/event-stream' }
  expect(AnswerStart.of(200, { ...headers, 'content-encoding': 'gzip, br' })).toBeNull()
  expect(AnswerStart.of(400, headers)).toBeNull()
  expect(AnswerStart.of(200, { 'content-type': 'audio/mpeg' })).toBeNull()
})

test.each([
  ['throttlingException', '429'],
  ['internalServerException', '5xx'],
  ['modelStreamErrorException', '5xx'],
  ['serviceUnavailableException', '5xx'],
  ['validationException', 'fine'],
  ['accessDeniedException', 'fine'],
] as const)("a stream of Bedrock's that begins with %s is %s", (name, verdict) => {
  const type = 'application/vnd.amazon.eventstream'
  expect(bytewise(eventMessage({ ':exception-type': name, ':message-type': 'exception' }, '{}'), type)).toBe(
    verdict,
  )
  expect(bytewise(bedrockEvent('messageStart', { role: 'assistant' }), type)).toBe('fine')
  expect(startOf(type).push(Buffer.alloc(100, 'x'))).toBe('fine')
})

/** The verdict on JSON that comes in two pieces, when it has come, and once it has ended. */
function ofJson(text: string, type = 'application/json') {
  const start = startOf(type)
  const half = text.length >> 1
  return (
    start.push(Buffer.from(text.slice(0, half))) ?? start.push(Buffer.from(text.slice(half))) ?? start.end()
  )
}

test.each([
  ['{"error":{"code":502,"message":"Provider returned error"},"user_id":"x"}', '5xx'],
  ['  \n { "error" : { "code" : 429 } }', '429'],
  ['{"type":"error","error":{"type":"overloaded_error"}}', '5xx'],
  ['{"error":"no capacity"}', '5xx'],
  ['{"error":{"type":"invalid_request_error"}}', 'fine'],
  ['{"error":null,"id":"x"}', 'fine'],
  ['{"error":{"code":502}', 'fine'],
  ['[1]', 'fine'],
  ['', 'fine'],
] as const)('an answer of JSON that is %j is %s', (text, verdict) => {
  expect(ofJson(text)).toBe(verdict)
  if (text.startsWith('{')) expect(ofJson(`\n${text}\n`, 'application/x-ndjson')).toBe(verdict)
})

test('an answer of JSON is shown as soon as it begins as no error does', () => {
  expect(startOf('application/json').push(Buffer.from('{"id"'))).toBe('fine')
  expect(startOf('application/json').push(Buffer.from(' {"type":"message'))).toBe('fine')
  expect(startOf('application/json').push(Buffer.from(' {"type":"e'))).toBeNull()
})

test.each([
  ['{"id":"chatcmpl-1"', 'fine', 3],
  [' \r\n{ \t"id"', 'fine', 8],
  ['{"error":{"type":"server_error"}}', null, null],
  ['{ "type" : "error"', null, null],
  ['{"typo":1}', 'fine', 6],
  ['{"Error":1}', 'fine', 3],
  [`${' '.repeat(200)}{"id"`, 'fine', 203],
  ['[1]', 'fine', 1],
] as const)('JSON that begins with %j is %s as soon as it tells', (text, verdict, length) => {
  const head = startOf('application/json')
  let after: number | null = null
  for (const [at, byte] of [...Buffer.from(text)].entries()) {
    if (head.push(Buffer.of(byte)) === 'fine' && after === null) after = at + 1
  }
  expect([after === null ? null : 'fine', after]).toEqual([verdict, length])
})
