import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { revokeKey } from '../../../src/keys/keys.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { dial } from '../raw-http.ts'

let answer: (request: IncomingMessage, response: ServerResponse) => void
let onUpgrade: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null
const upstream = createServer({ shouldUpgradeCallback: () => onUpgrade !== null }, (request, response) => {
  request.resume()
  if (request.url === '/v1/models') response.end('{"data":[]}')
  else answer(request, response)
})
const sockets = new WebSocketServer({ noServer: true })
let stack: TestStack
let client: TestClient
let number = 0

beforeAll(async () => {
  upstream.on('upgrade', (request, socket, head) => onUpgrade?.(request, socket, head))
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  stack = await startStack(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, {
    env: { SHUTDOWN_GRACE_MS: '500' },
  })
})

afterAll(async () => {
  await stack?.stop()
  for (const socket of sockets.clients) socket.terminate()
  upstream.closeAllConnections()
  upstream.close()
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`ending ${number}`)
})

async function record(): Promise<Record<string, unknown> | undefined> {
  await stack.usageOf(client, 1)
  const calls = await stack.calls(client)
  expect(calls).toHaveLength(1)
  return calls[0]
}

function handshake(path: string, method = 'GET', more: readonly string[] = [], body = ''): string {
  return [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${client.key}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    ...more,
    '',
    body,
  ].join('\r\n')
}

const REALTIME = '/v1/realtime?model=gpt-4o-realtime-preview'
const DONE = JSON.stringify({
  type: 'response.done',
  response: {
    id: 'resp_1',
    status: 'completed',
    usage: {
      total_tokens: 6000,
      input_tokens: 1000,
      output_tokens: 5000,
      input_token_details: { text_tokens: 1000 },
      output_token_details: { audio_tokens: 5000 },
    },
  },
})

/** A realtime session amid a response, of which 1.25 seconds of sound and all of the words have come. */
async function realtime(): Promise<{ readonly socket: Socket; readonly upstream: WebSocket }> {
  const accepted = new Promise<WebSocket>((resolve) => {
    onUpgrade = (request, socket, head) => sockets.handleUpgrade(request, socket, head, resolve)
  })
  const socket = dial(stack.url)
  socket.write(handshake(REALTIME))
  const upstreamSide = await accepted
  const session = { type: 'realtime', model: 'gpt-4o-realtime-preview' }
  upstreamSide.send(JSON.stringify({ type: 'session.created', session }))
  upstreamSide.send(JSON.stringify({ type: 'response.created', response: { id: 'resp_1', usage: null } }))
  for (let n = 0; n < 20; n += 1)
    upstreamSide.send(JSON.stringify({ type: 'response.output_audio.delta', delta: 'A'.repeat(4000) }))
  for (const delta of ['One', ' two', ' three'])
    upstreamSide.send(JSON.stringify({ type: 'response.output_audio_transcript.delta', delta }))
  upstreamSide.send(JSON.stringify({ type: 'response.output_audio.done' }))
  let seen = ''
  await new Promise<void>((resolve) =>
    socket.on('data', (bytes) => {
      seen += bytes.toString('latin1')
      if (seen.includes('output_audio.done')) resolve()
    }),
  )
  return { socket, upstream: upstreamSide }
}

/** A close frame without a reason. */
const CLOSE = Buffer.from([0x88, 0x80, 1, 2, 3, 4])

const COUNTED = {
  status: 101,
  usage_source: 'reported',
  input_tokens: '1000',
  output_tokens: '5000',
  cost_pico: '405000000000',
}
/** 1.25 s of sound are 25 tokens, with what its events have around it 26; the words are three. */
const ESTIMATED = { status: 101, usage_source: 'estimated', output_tokens: '28', audio_output_tokens: '25' }

test.each([
  'end',
  'destroy',
] as const)('a client whose connection %ss after the last sound pays for the response', async (way) => {
  const session = await realtime()
  session.socket[way]()
  await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
  const closed = once(session.upstream, 'close')
  session.upstream.send(DONE)
  expect((await closed)[0]).toBe(1001)
  expect(await record()).toMatchObject({ ...COUNTED, outcome: 'client_aborted' })
  expect(stack.gateway.unattendedCalls()).toBe(0)
})

test('a close frame amid a response waits for its figures, and goes upstream then', async () => {
  const session = await realtime()
  session.socket.write(CLOSE)
  const more = once(session.socket, 'data')
  session.upstream.send('{"type":"rate_limits.updated"}')
  await more
  expect(session.upstream.readyState).toBe(WebSocket.OPEN)
  const closed = once(session.upstream, 'close')
  session.upstream.send(DONE)
  expect((await closed)[0]).toBe(1005)
  expect(await record()).toMatchObject({ ...COUNTED, outcome: 'complete' })
  expect(stack.gateway.unattendedCalls()).toBe(0)
})

test('a client that closes behind its request pays for the answer', async () => {
  const session = await realtime()
  session.upstream.send(DONE)
  const asked = once(session.upstream, 'message')
  const request = Buffer.from('{"type":"response.create"}')
  const head = Buffer.from([0x81, 0x80 | request.length, 0, 0, 0, 0])
  session.socket.write(Buffer.concat([head, request, CLOSE]))
  expect(`${(await asked)[0]}`).toBe(request.toString())
  session.upstream.send(DONE.replace('resp_1', 'resp_2'))
  expect(await record()).toMatchObject({
    usage_source: 'reported',
    input_tokens: '2000',
    output_tokens: '10000',
  })
})

test('a close frame behind which the upstream is silent goes upstream, and the response is estimated', async () => {
  const session = await realtime()
  const beganMs = performance.now()
  session.socket.write(CLOSE)
  await once(session.upstream, 'close')
  expect(performance.now() - beganMs).toBeGreaterThan(4_900)
  expect(await record()).toMatchObject({ ...ESTIMATED, outcome: 'client_aborted' })
})

test('a client that closes and is gone amid a response pays for it', async () => {
  const session = await realtime()
  session.socket.end(CLOSE)
  await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
  const closed = once(session.upstream, 'close')
  session.upstream.send(DONE)
  expect((await closed)[0]).toBe(1001)
  expect(await record()).toMatchObject({ ...COUNTED, outcome: 'client_aborted' })
})

test.each([
  'gone',
  'waiting for its close',
])('an upstream that asks whether its client is there is answered while that is %s', async (client) => {
  const session = await realtime()
  if (client === 'gone') {
    session.socket.destroy()
    await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
  } else {
    session.socket.write(CLOSE)
    const more = once(session.socket, 'data')
    session.upstream.send('{"type":"rate_limits.updated"}')
    await more
  }
  for (const text of ['', 'there?', 'x'.repeat(125)]) {
    const answered = once(session.upstream, 'pong')
    session.upstream.ping(text)
    expect(String((await answered)[0])).toBe(text)
  }
  session.upstream.send(DONE)
  expect(await record()).toMatchObject(COUNTED)
})

test.each([
  1, 300,
])('a session is closed behind the end of a frame that has come in part, the rest by %i bytes', async (step) => {
  const frame = Buffer.concat([Buffer.from([0x81, 126, 0, 200]), Buffer.alloc(200, 'a')])
  const next = Buffer.concat([Buffer.from([0x81, 100]), Buffer.alloc(100, 'b')])
  const accepted = new Promise<Duplex>((resolve) => {
    onUpgrade = (_request, socket) => resolve(socket)
  })
  const socket = dial(stack.url)
  socket.write(handshake(REALTIME))
  const side = await accepted
  side.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n',
  )
  side.write(frame.subarray(0, 150))
  let seen = Buffer.alloc(0)
  socket.on('data', (bytes) => {
    seen = Buffer.concat([seen, bytes])
  })
  await expect.poll(() => seen.includes('aaaa')).toBe(true)
  const [heard, closed] = [once(side, 'data'), once(socket, 'close')]
  await revokeKey(stack.pool, client.keyId)
  await heard
  const rest = Buffer.concat([frame.subarray(150), next])
  for (let at = 0; at < rest.length; at += step) side.write(rest.subarray(at, at + step))
  await closed
  const frames = seen.subarray(seen.indexOf('\r\n\r\n') + 4)
  const end = frames.indexOf(0x88)
  expect([frame.length, frame.length + next.length]).toContain(end)
  expect(frames.subarray(0, end)).toEqual(Buffer.concat([frame, next]).subarray(0, end))
  expect(frames.readUInt16BE(end + 2)).toBe(1008)
})

test('an echo of the upstream’s own close frame does not wait', async () => {
  const session = await realtime()
  const heard = once(session.socket, 'data')
  session.upstream.close(1011)
  await heard
  session.socket.write(CLOSE)
  await once(session.upstream, 'close')
  expect(await record()).toMatchObject(ESTIMATED)
})

test('an upstream that ends the session amid a response has failed, and the response is estimated', async () => {
  const session = await realtime()
  session.upstream.terminate()
  expect(await record()).toMatchObject({ ...ESTIMATED, outcome: 'upstream_error' })
  session.socket.destroy()
})

test('an upstream that is cut off while it is read on: the response is estimated', async () => {
  const session = await realtime()
  session.socket.destroy()
  await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
  session.upstream.terminate()
  expect(await record()).toMatchObject({ ...ESTIMATED, outcome: 'client_aborted' })
})

test('a key that is revoked amid a response: the client gets no more, the response is counted', async () => {
  const session = await realtime()
  const closed = once(session.socket, 'close')
  await revokeKey(stack.pool, client.keyId)
  await closed
  session.upstream.send(DONE)
  await expect.poll(async () => (await stack.calls(client)).length).toBe(1)
  expect(await stack.calls(client)).toMatchObject([{ ...COUNTED, outcome: 'client_aborted' }])
})

test('a session between two responses ends as before: complete when it was closed, with what was counted', async () => {
  const session = await realtime()
  session.upstream.send(DONE)
  await once(session.socket, 'data')
  session.socket.write(Buffer.from([0x88, 0x80, 1, 2, 3, 4]))
  expect(await record()).toMatchObject({ ...COUNTED, outcome: 'complete' })
})

const makeResponse = () =>
  JSON.stringify({
    id: `resp_${number}`,
    object: 'response',
    status: 'completed',
    model: 'gpt-4o-mini',
    output: [],
    usage: {
      input_tokens: 1000,
      output_tokens: 500,
      total_tokens: 1500,
      output_tokens_details: { reasoning_tokens: 400 },
    },
  })

test.each([
  '',
  'gzip',
])('a handshake that is answered with a response is read like the GET that it is (%s)', async (encoding) => {
  onUpgrade = null
  const body = encoding === '' ? Buffer.from(makeResponse()) : gzipSync(makeResponse())
  answer = (_request, response) => {
    const headers = encoding === '' ? {} : { 'content-encoding': encoding }
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }
  const socket = dial(stack.url)
  socket.write(handshake(`/v1/responses/resp_${number}`))
  const parts: Buffer[] = []
  for await (const chunk of socket) parts.push(chunk)
  const got = Buffer.concat(parts)
  expect(got.toString('latin1')).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  expect(got.includes(body.subarray(0, 20))).toBe(true)
  expect(await record()).toMatchObject({
    web_socket: false,
    method: 'GET',
    status: 200,
    outcome: 'complete',
    usage_source: 'reported',
    input_tokens: '1000',
    output_tokens: '500',
    cost_pico: '450000000',
  })
})

test('a response that is fetched by a handshake and by a GET is counted once', async () => {
  onUpgrade = null
  answer = (_request, response) => response.end(makeResponse())
  const socket = dial(stack.url)
  socket.write(handshake(`/v1/responses/resp_${number}`))
  await once(socket.resume(), 'close')
  await fetch(`${stack.url}/v1/responses/resp_${number}`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  expect(await stack.usageOf(client, 2)).toMatchObject({ input_tokens: 1000, output_tokens: 500 })
})

test('a client that leaves amid the long answer to its handshake is counted in full', async () => {
  onUpgrade = null
  const answering = new Promise<ServerResponse>((resolve) => {
    answer = (_request, response) => resolve(response)
  })
  const socket = dial(stack.url)
  socket.write(handshake(`/v1/responses/resp_${number}`))
  const response = await answering
  const body = makeResponse().replace('[]', `[${'"x",'.repeat(50_000)}"x"]`)
  const cut = body.indexOf('"usage"')
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.write(body.slice(0, cut))
  let got = 0
  for await (const chunk of socket) {
    got += chunk.length
    if (got > cut) break
  }
  socket.destroy()
  await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
  response.end(body.slice(cut))
  expect(await record()).toMatchObject({
    outcome: 'client_aborted',
    usage_source: 'reported',
    output_tokens: '500',
  })
})

test.each([
  ['by another method', 'POST', ['Content-Type: application/json', 'Content-Length: 55']],
  ['with a body', 'GET', ['Content-Length: 55']],
])('a handshake %s is metered as the request that it is without the upgrade', async (_how, method, headers) => {
  onUpgrade = () => {}
  const seen = new Promise<IncomingMessage>((resolve) => {
    answer = (request, response) => {
      resolve(request)
      response.end(makeResponse())
    }
  })
  const body = '{"model":"gpt-4o-mini","input":"Say a word or two, no"}'
  const socket = dial(stack.url)
  socket.write(handshake('/v1/responses', method, headers, body))
  await once(socket, 'data')
  expect((await seen).headers.upgrade).toBeUndefined()
  socket.destroy()
  expect(await record()).toMatchObject({ web_socket: false, method, status: 200 })
})

test('a 101 to a protocol that was not asked for is not a session', async () => {
  onUpgrade = (_request, socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nfree bytes')
  const webSocket = new WebSocket(`${stack.url.replace('http', 'ws')}${REALTIME}`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  const [, refusal] = (await new Promise((resolve) => {
    webSocket.on('unexpected-response', (request, response) => resolve([request, response]))
    webSocket.on('error', () => {})
  })) as [unknown, IncomingMessage]
  expect(refusal.statusCode).toBe(502)
  expect(await record()).toMatchObject({ outcome: 'upstream_error', status: null })
})

test('the model of a session that only its messages name is the one it is totalled under', async () => {
  const accepted = new Promise<WebSocket>((resolve) => {
    onUpgrade = (request, socket, head) => sockets.handleUpgrade(request, socket, head, resolve)
  })
  const webSocket = new WebSocket(`${stack.url.replace('http', 'ws')}/v1/realtime`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  const side = await accepted
  side.send(JSON.stringify({ type: 'session.created', session: { model: 'gpt-4o-realtime-preview' } }))
  side.send(DONE)
  side.close()
  await once(webSocket, 'close')
  expect(await record()).toMatchObject({ model: 'gpt-4o-realtime-preview', outcome: 'complete' })
})
