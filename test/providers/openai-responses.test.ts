import { describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../src/call/usage.ts'
import type { MessageReader } from '../../src/providers/dialect.ts'
import { selectDialect } from '../../src/providers/registry.ts'

function createSession(): MessageReader {
  const request = { method: 'GET', path: '/v1/responses', model: null, stream: null }
  const reader = selectDialect('openai', 'GET', request.path)?.createMessageReader?.(request)
  if (reader === undefined) throw new Error('no WebSocket mode')
  return reader
}

function send(session: MessageReader, ...events: readonly object[]): void {
  for (const event of events) session.message(Buffer.from(JSON.stringify(event)))
}

const created = (id: string): object => ({
  type: 'response.created',
  response: { id, model: 'made', status: 'in_progress', usage: null },
})
const ended = (type: string, id: string, input: number, output: number): object => ({
  type: `response.${type}`,
  response: {
    id,
    model: 'made',
    status: type,
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  },
})
const delta = { type: 'response.output_text.delta', delta: 'x' }

describe('a WebSocket session of the Responses API', () => {
  test('a WebSocket session of the Responses API uses the sum of its responses, however each ended', () => {
    const session = createSession()
    send(session, created('a'), delta, ended('completed', 'a', 100, 10))
    send(session, created('b'), delta, ended('incomplete', 'b', 200, 20))
    const observed = session.peek()
    expect(observed.usage).toEqual({ ...NO_USAGE, inputTokens: 300, outputTokens: 30 })
    expect(observed.usageSource).toBe('reported')
    expect(observed.model).toBe('made')
  })

  test('a WebSocket session of the Responses API has reported nothing before its first response has ended', () => {
    const session = createSession()
    send(session, created('a'), delta)
    expect(session.peek().usageSource).toBe('none')
  })

  test('a WebSocket session of the Responses API says by its revision when there is more to see', () => {
    const session = createSession()
    send(session, created('a'))
    const before = session.revision
    send(session, delta, delta)
    expect(session.revision).toBe(before)
    send(session, ended('completed', 'a', 1, 1))
    expect(session.revision).toBeGreaterThan(before)
  })

  test('a WebSocket session of the Responses API goes on after an error and after a message that is not JSON', () => {
    const session = createSession()
    send(session, { type: 'error', error: { code: 'x' } })
    session.message(Buffer.from('{"type":'))
    send(session, created('a'), ended('completed', 'a', 5, 6))
    expect(session.peek()).toMatchObject({ failed: true, usage: { inputTokens: 5, outputTokens: 6 } })
  })
})
