import { expect, test } from 'vitest'
import { answerHasEnded } from '../../../src/gateway/estimation/answer-end.ts'
import type { KeptBytes } from '../../../src/gateway/estimation/body-windows.ts'
import { createMadeStreams } from '../cuts/made-ends.ts'

const SSE = 'text/event-stream'
const NOTHING = Buffer.alloc(0)

function ended(text: string, contentType = SSE): boolean {
  return answerHasEnded({ head: Buffer.from(text), tail: NOTHING, between: 0 }, contentType)
}

test.each(
  createMadeStreams(),
)('%s: the end is seen with the event that says it, and not before', (_name, before, end) => {
  expect(ended(before)).toBe(false)
  expect(ended(before + end)).toBe(true)
})

test('text that speaks of an end is none', () => {
  const text = JSON.stringify('{"finish_reason": "stop", "stop_reason":"end_turn"}')
  expect(ended(`data: {"choices":[{"delta":{"content":${text}},"finish_reason":null}]}\n\n`)).toBe(false)
})

test('one document is written when all was generated: its first byte is its end', () => {
  expect(ended('{"choices":[{"mess', 'application/json')).toBe(true)
  expect(ended('\n {"id"', 'application/json; charset=utf-8')).toBe(true)
  expect(ended('', 'application/json')).toBe(false)
  expect(ended('[{"candidates":[]}', 'application/json')).toBe(false)
  expect(ended('{"response":"a"}\n', 'application/x-ndjson')).toBe(false)
})

test('amid an event of which the beginning was not kept, the answer counts as ended', () => {
  const kept = (tail: string): KeptBytes => ({
    head: Buffer.from('data: {}\n\n'),
    tail: Buffer.from(tail),
    between: 1,
  })
  expect(answerHasEnded(kept('x'.repeat(100)), SSE)).toBe(true)
  expect(answerHasEnded(kept('x"}\n\ndata: {"choices":[]}\n\n'), SSE)).toBe(false)
})

test('an end that lies across what is kept of the beginning and of the rest is seen', () => {
  const event = 'data: {"finish_reason":"stop"}\n\n'
  const at = event.indexOf('reason')
  const kept = { head: Buffer.from(event.slice(0, at)), tail: Buffer.from(event.slice(at)), between: 0 }
  expect(answerHasEnded(kept, SSE)).toBe(true)
})

test("an end inside the base64 of Bedrock's events is seen", () => {
  const wrapped = (json: object) =>
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(json)).toString('base64') })
  const type = 'application/vnd.amazon.eventstream'
  const text = wrapped({ type: 'content_block_delta', delta: { text: 'a' } })
  expect(ended(text, type)).toBe(false)
  expect(ended(text + wrapped({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }), type)).toBe(
    true,
  )
})
