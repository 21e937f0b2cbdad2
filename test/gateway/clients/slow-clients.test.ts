import { once } from 'node:events'
import type * as Http from 'node:http'
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type * as BodyBudgets from '../../../src/gateway/bodies/body-budget.ts'
import { busyness } from '../../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { CHAT_USAGE, event, json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { dial, parseResponse, requestText } from '../raw-http.ts'

/** What the limits of a minute and more are here. */
const HEAD_MS = 600
const READ_IDLE_MS = 600
const RATE_WINDOW_MS = 1_500
const WRITE_IDLE_MS = 1_000

vi.mock('node:http', async (importOriginal) => {
  const http = await importOriginal<typeof Http>()
  const createServer = (
    options: Http.ServerOptions | Http.RequestListener,
    listener?: Http.RequestListener,
  ) =>
    typeof options === 'function' || options.headersTimeout === undefined
      ? http.createServer(options as Http.ServerOptions, listener)
      : http.createServer({ ...options, headersTimeout: HEAD_MS, connectionsCheckingInterval: 50 }, listener)
  return { ...http, createServer }
})

vi.mock('../../../src/gateway/bodies/body-budget.ts', async (importOriginal) => {
  const original = await importOriginal<typeof BodyBudgets>()
  class BodyBudget extends original.BodyBudget {
    constructor(limitBytes: number, maxBodyBytes: number) {
      super(limitBytes, maxBodyBytes, { rateWindowMs: RATE_WINDOW_MS })
    }
  }
  return { ...original, BodyBudget }
})

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let number = 0

beforeAll(async () => {
  const { setTimeout: setIdleTimeout } = Socket.prototype
  vi.spyOn(Socket.prototype, 'setTimeout').mockImplementation(function (this: Socket, ms, onTimeout) {
    const here = ms === 60_000 ? READ_IDLE_MS : ms === 300_000 ? WRITE_IDLE_MS : ms
    return setIdleTimeout.call(this, here, onTimeout)
  })
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  vi.restoreAllMocks()
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`slow ${number}`)
  upstream.requests.length = 0
})

function authorization(): string {
  return `Authorization: Bearer ${client.key}`
}

const STREAMED = '{"model":"gpt-4o-mini","stream":true,"messages":[]}'

/** A stream's request on a connection that reads nothing of its answer. */
function unreadStream(): Socket {
  const socket = dial(stack.url).pause()
  const headers = [authorization(), 'Content-Type: application/json', `Content-Length: ${STREAMED.length}`]
  socket.write(requestText('/v1/chat/completions', headers, 'POST', STREAMED))
  return socket
}

/** Another client's call, which has to go on whatever slow ones do. */
async function expectOthersServed(): Promise<void> {
  const other = await stack.addClient(`other ${number}`)
  for (let call = 0; call < 5; call += 1) {
    const answer = await fetch(`${stack.url}/v1/usage`, { headers: { authorization: `Bearer ${other.key}` } })
    expect(answer.status).toBe(200)
  }
}

const DELTA = event({ choices: [{ index: 0, delta: { content: 'x'.repeat(16_000) } }] })

/** Writes events as long as they are taken; resolves with the bytes when none was for a while. */
async function flood(response: ServerResponse): Promise<number> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let bytes = 0
  for (;;) {
    bytes += DELTA.length
    if (response.write(DELTA)) continue
    const drained = await Promise.race([once(response, 'drain'), delay(500 * busyness())])
    if (drained === undefined) return bytes
  }
}

/** All that came: what is written behind the gateway's end fails, and says nothing of it. */
async function untilClosed(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => {})
  await new Promise((resolve) => socket.on('close', resolve))
  return Buffer.concat(chunks).toString()
}

test('heads that trickle in and connections that say nothing are ended, and hold up no other client meanwhile', async () => {
  const slow = Array.from({ length: 300 }, () => dial(stack.url))
  const ends = slow.map((socket) => untilClosed(socket))
  const begun = slow.slice(100)
  for (const socket of begun) socket.write('GET /v1/x HTTP/1.1\r\nHost: a\r\n')
  const trickle = setInterval(() => {
    for (const socket of begun) if (socket.writable) socket.write('X-A: b\r\n')
  }, 100)
  await expectOthersServed()
  const answers = await Promise.all(ends)
  clearInterval(trickle)
  for (const answer of answers) {
    const { status, body } = parseResponse(Buffer.from(answer))
    expect(status).toBe(408)
    expect(JSON.parse(body.toString())).toMatchObject({ error: { code: 'request_timeout' } })
  }
  expect(upstream.requests).toEqual([])
})

test.each([
  ['stops coming', 0],
  ['trickles', 20],
])('a body that %s is answered 408 and its connection ends: nothing went upstream, nothing is counted', async (_, everyMs) => {
  const socket = dial(stack.url)
  const headers = [authorization(), 'Content-Type: application/json', 'Content-Length: 100000']
  socket.write(requestText('/v1/chat/completions', headers, 'POST', '{"model":'))
  const trickle = everyMs > 0 ? setInterval(() => socket.write(' '), everyMs) : undefined
  const received = untilClosed(socket)
  await expectOthersServed()
  const { status, body } = parseResponse(Buffer.from(await received))
  clearInterval(trickle)
  expect(status).toBe(408)
  expect(JSON.parse(body.toString())).toMatchObject({ error: { code: 'request_timeout' } })
  expect(upstream.requests).toEqual([])
  expect((await stack.usage(client)).requests).toBe(0)
})

test('an upload that stops coming ends its connection and the one upstream, and is counted as left', async () => {
  const socket = dial(stack.url)
  const headers = [authorization(), 'Content-Type: application/octet-stream', 'Content-Length: 1000']
  socket.write(requestText('/v1/files', headers, 'POST', 'four'))
  await once(socket.resume(), 'close')
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([{ outcome: 'client_aborted', path: '/v1/files' }])
})

test('a body that comes slowly, but comes, is taken, and the time its answer takes is not limited by it', async () => {
  const answering = new Promise<ServerResponse>((resolve) =>
    upstream.answer((_request, response) => resolve(response)),
  )
  const socket = dial(stack.url)
  const headers = [
    authorization(),
    'Content-Type: application/json',
    `Content-Length: ${STREAMED.length}`,
    'Connection: close',
  ]
  socket.write(requestText('/v1/chat/completions', headers, 'POST'))
  const received = untilClosed(socket)
  // Altogether longer than the silence that would end it.
  for (const piece of STREAMED.match(/.{1,7}/g) ?? []) {
    socket.write(piece)
    await delay(100)
  }
  const response = await answering
  await delay(READ_IDLE_MS + 200)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(event({ choices: [], usage: CHAT_USAGE }))
  await delay(READ_IDLE_MS + 200)
  response.end('data: [DONE]\n\n')
  expect(await received).toContain('[DONE]')
  expect((await stack.usageOf(client, 1)).output_tokens).toBe(7)
})

test('a client that stops reading in mid-stream: the upstream waits, then is closed; one record says who left', async () => {
  const flooded = Promise.withResolvers<[number, ServerResponse]>()
  upstream.answer((_request, response) => {
    void flood(response).then((bytes) => flooded.resolve([bytes, response]))
  })
  const socket = unreadStream()
  const [bytes, response] = await flooded.promise
  // What lies between is in four sockets' buffers.
  expect(bytes).toBeLessThan(32 * 1024 * 1024)
  await expectOthersServed()
  if (!response.closed) await once(response, 'close')
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([
    { outcome: 'client_aborted', status: 200, usage_source: 'estimated' },
  ])
  socket.destroy()
})

test('a client that reads slowly, but reads, gets all of its stream', async () => {
  const pieces = 900
  upstream.answer(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let piece = 0; piece < pieces; piece += 1) if (!response.write(DELTA)) await once(response, 'drain')
    response.write(event({ choices: [], usage: CHAT_USAGE }))
    response.end('data: [DONE]\n\n')
  })
  let bytes = 0
  let bytesToPause = 0
  let last = ''
  for await (const chunk of unreadStream()) {
    bytes += chunk.length
    bytesToPause += chunk.length
    last = `${last}${chunk}`.slice(-100)
    // Altogether longer than the silence that would end it. Less would not show through the buffers in between.
    if (bytesToPause < 2_000_000) continue
    bytesToPause = 0
    await delay(WRITE_IDLE_MS / 2)
  }
  expect(bytes).toBeGreaterThan(pieces * DELTA.length)
  expect(last).toMatch(/\[DONE\]\n\n\r\n0\r\n\r\n$/)
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([{ outcome: 'complete', output_tokens: '7' }])
})

test('a client that fetches none of many answers is disconnected', async () => {
  const content = 'x'.repeat(60_000)
  upstream.answer((_request, response) =>
    json(response, 200, { model: 'gpt-4o-mini', content, usage: CHAT_USAGE }),
  )
  const socket = dial(stack.url).pause()
  const headers = [authorization(), 'Content-Type: application/json', 'Content-Length: 2']
  const request = requestText('/v1/chat/completions', headers, 'POST', '{}').replace(
    'Connection: close\r\n',
    '',
  )
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.write(request.repeat(200))
  // Only a reader or a writer sees its end, and a writer is not silent.
  const probe = setInterval(() => socket.write('\r\n'), 3 * WRITE_IDLE_MS)
  await closed
  clearInterval(probe)
  await expectOthersServed()
})
