import { expect, test } from 'vitest'
import { StreamHead } from '../../../src/gateway/proxy/routed/stream-head.ts'

const OVERLOADED =
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'

/** The verdict, and after how many bytes, where the stream comes byte by byte. */
function bytewise(text: string) {
  const head = new StreamHead()
  const bytes = Buffer.from(text)
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
  expect(bytewise(text)).toBe(verdict)
  expect(new StreamHead().push(Buffer.from(text))).toBe(verdict)
})

test('no more than 64 KiB are held for an event that does not end', () => {
  const head = new StreamHead()
  const chunk = Buffer.alloc(16 * 1024, 'x')
  expect([1, 2, 3, 4, 5].map(() => head.push(chunk))).toEqual([null, null, null, null, 'fine'])
})
