import type { Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { busyness } from '../../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { exchange, type RawResponse, type RawUpstream, requestText, startRawUpstream } from '../raw-http.ts'

let answer: (socket: Socket) => void
let upstream: RawUpstream
let stack: TestStack
let client: TestClient
let number = 0

beforeAll(async () => {
  upstream = await startRawUpstream((socket) => answer(socket))
  stack = await startStack(upstream.url, {
    env: { UPSTREAM_HEADERS_TIMEOUT_MS: '500', UPSTREAM_IDLE_TIMEOUT_MS: '500' },
  })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`client ${number}`)
})

const CHAT = '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Say hello."}]}'
const STREAMED = CHAT.replace('{', '{"stream":true,')
const USAGE = '"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}'
const DELTA = 'data: {"model":"gpt-4o-mini","choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n'

function post(body: string, path = '/v1/chat/completions', url = stack.url): Promise<RawResponse> {
  const headers = [
    `Authorization: Bearer ${client.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  return exchange(url, requestText(path, headers, 'POST', body))
}

/** The client's only record. */
async function record(): Promise<Record<string, unknown>> {
  const summary = await stack.usageOf(client, 1)
  const calls = await stack.calls(client)
  expect(calls).toHaveLength(1)
  return { ...calls[0], summary }
}

function sse(...events: readonly string[]): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${events
    .map((event) => `${event.length.toString(16)}\r\n${event}\r\n`)
    .join('')}`
}

const UNREACHABLE = {
  error: { message: expect.any(String), type: 'upstream_error', param: null, code: 'upstream_unreachable' },
}
const TIMED_OUT = {
  error: { message: expect.any(String), type: 'upstream_error', param: null, code: 'upstream_timeout' },
}

test('an upstream where no server listens: 502, and the call is counted', async () => {
  const away = await startStack('http://127.0.0.1:1')
  client = await away.addClient('alone')
  const { status, body, lines } = await post(CHAT, '/v1/chat/completions', away.url)
  expect([status, JSON.parse(body.toString())]).toEqual([502, UNREACHABLE])
  expect(lines).toContainEqual(expect.stringMatching(/^x-tallygate-call-id: [0-9a-f-]{36}$/))
  expect(await away.usageOf(client, 1)).toMatchObject({ total_tokens: 0, cost_usd: 0, avg_latency_ms: 0 })
  expect(await away.calls(client)).toMatchObject([
    { outcome: 'upstream_error', status: null, usage_source: 'none', cost_pico: '0' },
  ])
  const anthropic = await post(CHAT, '/v1/messages', away.url)
  expect(JSON.parse(anthropic.body.toString())).toEqual({
    type: 'error',
    error: { type: 'upstream_error', message: expect.any(String) },
  })
  await away.usageOf(client, 2)
  await away.stop()
})

test.each([
  ['closes before it answers', (socket: Socket) => socket.end()],
  ['resets the connection', (socket: Socket) => socket.resetAndDestroy()],
  ['answers what is not HTTP', (socket: Socket) => socket.end('SSH-2.0-OpenSSH\r\n')],
  ['ends within the headers', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Le')],
  [
    'sends headers over the limit',
    (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`),
  ],
])('an upstream that %s: 502, one record', async (_what, handler) => {
  answer = handler
  const { status, body } = await post(CHAT)
  expect([status, JSON.parse(body.toString())]).toEqual([502, UNREACHABLE])
  expect(await record()).toMatchObject({ outcome: 'upstream_error', status: null, input_tokens: null })
  expect(upstream.received.at(-1)?.toString()).toContain('POST /v1/chat/completions')
})

test('an upstream that hangs before its headers: 504 in time, one record', async () => {
  answer = () => {}
  const startedAt = performance.now()
  const { status, body } = await post(CHAT)
  expect([status, JSON.parse(body.toString())]).toEqual([504, TIMED_OUT])
  expect(performance.now() - startedAt).toBeLessThan(2_500 * busyness())
  expect(await record()).toMatchObject({
    outcome: 'upstream_error',
    status: null,
    summary: { total_tokens: 0 },
  })
})

test('an upstream that hangs within a short answer of announced length: 504, one record', async () => {
  answer = (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"a":')
  const { status, body } = await post(CHAT)
  expect([status, JSON.parse(body.toString())]).toEqual([504, TIMED_OUT])
  expect(await record()).toMatchObject({ outcome: 'upstream_error', status: 200 })
})

test('an upstream that hangs in mid-stream: the client gets what came and sees the cut, the estimate is flagged', async () => {
  answer = (socket) => socket.write(sse(DELTA, DELTA))
  const { status, body } = await post(STREAMED)
  expect(status).toBe(200)
  expect(body.toString()).toContain(DELTA)
  expect(body.toString()).not.toMatch(/\r\n0\r\n/)
  expect(await record()).toMatchObject({
    outcome: 'upstream_error',
    status: 200,
    usage_source: 'estimated',
    output_tokens: '2',
  })
})

test('an upstream that cuts a stream in the middle of an event: every byte that came passes, one flagged record', async () => {
  const half = DELTA.slice(0, 40)
  answer = (socket) => socket.write(sse(DELTA, half), () => socket.resetAndDestroy())
  const { status, body } = await post(STREAMED)
  expect(status).toBe(200)
  expect(body.toString()).toContain(DELTA)
  expect(body.toString()).not.toMatch(/\r\n0\r\n/)
  expect(await record()).toMatchObject({
    outcome: 'upstream_error',
    status: 200,
    usage_source: 'estimated',
    output_tokens: '1',
  })
})

test('an upstream that cuts a stream behind its usage: counted as reported', async () => {
  const usage = `data: {"model":"gpt-4o-mini","choices":[],${USAGE}}\n\n`
  answer = (socket) => socket.write(sse(DELTA, usage), () => socket.resetAndDestroy())
  const { body } = await post(STREAMED)
  expect(body.toString()).not.toContain('usage')
  expect(await record()).toMatchObject({
    outcome: 'upstream_error',
    usage_source: 'reported',
    input_tokens: '11',
    output_tokens: '7',
  })
})

test.each([
  ['garbage', 'text/plain', '\x00\xff\xfe garbage {"usage":'],
  ['garbage called JSON', 'application/json', '{"usage":{"prompt_tokens":'],
  ['another shape', 'application/json', '{"usage":[1,2,3],"choices":"none"}'],
  ['HTML', 'text/html', '<html><body>It works!</body></html>'],
  ['negative counts', 'application/json', '{"usage":{"prompt_tokens":-5,"completion_tokens":7}}'],
  ['numbers past every sense', 'application/json', '{"usage":{"prompt_tokens":1e30,"completion_tokens":7}}'],
  ['deep nesting', 'application/json', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
  [
    'an event stream of nonsense',
    'text/event-stream',
    'data: {"usage":{"prompt_tokens":nope\n\ndata\n\n:\n\nevent: x\n\n',
  ],
])('%s with 200: the client gets it as it is, one record, never a credit', async (_what, type, text) => {
  const bytes = Buffer.from(text, 'latin1')
  answer = (socket) =>
    socket.end(
      Buffer.concat([
        Buffer.from(
          `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${bytes.length}\r\nConnection: close\r\n\r\n`,
        ),
        bytes,
      ]),
    )
  const { status, body } = await post(CHAT)
  expect(status).toBe(200)
  expect(body).toEqual(bytes)
  const { summary, ...call } = await record()
  expect(call).toMatchObject({ outcome: 'complete', status: 200 })
  expect(['estimated', 'invalid', 'none']).toContain(call.usage_source)
  expect(Number(call.input_tokens ?? 0)).toBeLessThan(1_000)
  expect(Object.values(summary as object).filter((figure) => figure < 0)).toEqual([])
})

test('an upstream that sends less than it announced: never a whole answer, one record', async () => {
  answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort')
  const { status } = await post(CHAT)
  expect(status).toBe(502)
  expect(await record()).toMatchObject({ outcome: 'upstream_error', status: 200 })
})

test('an upstream that sends more than it announced: the announced bytes, one record', async () => {
  answer = (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{"more":${USAGE}`)
  const { status, body } = await post(CHAT)
  expect([200, 502]).toContain(status)
  expect(body.toString()).not.toContain('more')
  await record()
})

test('errors of the upstream reach the client as they are, counted without tokens', async () => {
  for (const [index, line] of [
    '400 Bad Request',
    '401 Unauthorized',
    '429 Too Many Requests',
    '500 Oops',
    '529 Overloaded',
  ].entries()) {
    const text = '{"error":{"message":"upstream says no"}}'
    answer = (socket) =>
      socket.end(
        `HTTP/1.1 ${line}\r\nRetry-After: 7\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
      )
    const response = await post(CHAT)
    expect(response.lines[0]).toBe(`HTTP/1.1 ${line}`)
    expect(response.lines).toContain('Retry-After: 7')
    expect(response.body.toString()).toBe(text)
    expect(await stack.usageOf(client, index + 1)).toMatchObject({ total_tokens: 0, cost_usd: 0 })
  }
  // 503 among them: nothing is tried again behind the client's back.
  const before = upstream.received.length
  answer = (socket) =>
    socket.end('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  expect((await post(CHAT)).status).toBe(503)
  expect(upstream.received.length).toBe(before + 1)
})

test.each([
  'HTTP/1.1 200 O\x01K',
  'HTTP/1.1 200 \x7f',
  'HTTP/1.1 200 caf\xe9',
  'HTTP/1.1 200',
  'HTTP/1.1 999 Odd',
  'HTTP/1.0 200 OK',
])('a status line as odd as %j, streamed: an answer all the same, one record', async (line) => {
  answer = (socket) => {
    socket.write(
      Buffer.from(`${line}\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n`, 'latin1'),
    )
    setTimeout(() => socket.end(DELTA), 20)
  }
  const { status, body } = await post(STREAMED)
  expect(status).toBe(line.includes('999') ? 999 : 200)
  expect(body.toString()).toContain(DELTA)
  expect(await record()).toMatchObject({ outcome: 'complete' })
})
