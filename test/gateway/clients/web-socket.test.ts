import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RawData, WebSocket, WebSocketServer } from 'ws'
import { revokeKey } from '../../../src/keys/keys.ts'
import { busyness } from '../../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { dial } from '../raw-http.ts'

const upstream = createServer((request, response) => {
  request.resume()
  response.end('{"data":[]}')
})
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true, maxPayload: 64 * 1024 * 1024 })
let onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
let stack: TestStack
let client: TestClient
let number = 0

beforeAll(async () => {
  upstream.on('upgrade', (request, socket, head) => onUpgrade(request, socket, head))
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  stack = await startStack(`http://127.0.0.1:${port}`, {
    env: { UPSTREAM_API_KEY: 'sk-upstream', UPSTREAM_HEADERS_TIMEOUT_MS: '500', SHUTDOWN_GRACE_MS: '500' },
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
  client = await stack.addClient(`session ${number}`)
})

interface Session {
  readonly client: WebSocket
  readonly upstream: WebSocket
  readonly handshake: IncomingMessage
}

/** A session through the gateway, accepted by the upstream. */
async function connect(
  options: { path?: string; protocols?: string[]; deflate?: boolean } = {},
): Promise<Session> {
  const accepted = new Promise<[WebSocket, IncomingMessage]>((resolve) => {
    onUpgrade = (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (webSocket) => resolve([webSocket, request]))
  })
  const webSocket = open(options.path, options.protocols, options.deflate)
  const [[upstreamSide, handshake]] = await Promise.all([accepted, once(webSocket, 'open')])
  return { client: webSocket, upstream: upstreamSide, handshake }
}

function open(path = '/v1/live?x=1', protocols: string[] = [], deflate = false): WebSocket {
  return new WebSocket(`${stack.url.replace('http', 'ws')}${path}`, protocols, {
    headers: { authorization: `Bearer ${client.key}` },
    perMessageDeflate: deflate,
  })
}

/** How the handshake was refused. */
async function refusalOf(webSocket: WebSocket): Promise<[number | undefined, string]> {
  const [, answer]: [unknown, IncomingMessage] = await new Promise((resolve) => {
    webSocket.on('unexpected-response', (request, response) => resolve([request, response]))
    webSocket.on('error', () => {})
  })
  let body = ''
  for await (const chunk of answer) body += chunk
  return [answer.statusCode, body]
}

/** The next messages of one side. */
function messages(webSocket: WebSocket, count: number): Promise<[Buffer, boolean][]> {
  const found: [Buffer, boolean][] = []
  return new Promise((resolve) => {
    const take = (bytes: RawData, isBinary: boolean) => {
      found.push([Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0), isBinary])
      if (found.length < count) return
      webSocket.off('message', take)
      resolve(found)
    }
    webSocket.on('message', take)
  })
}

async function record(): Promise<Record<string, unknown> | undefined> {
  await stack.usageOf(client, 1)
  const calls = await stack.calls(client)
  expect(calls).toHaveLength(1)
  return calls[0]
}

async function connectionsOf(server: {
  getConnections(done: (error: Error | null, count: number) => void): void
}) {
  return await new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
}

test('a handshake goes upstream with its path, protocols and our credential in place of the key', async () => {
  const session = await connect({ path: '/v1/live?x=%20y', protocols: ['realtime', 'beta'] })
  expect(session.handshake.url).toBe('/v1/live?x=%20y')
  expect(session.handshake.headers).toMatchObject({
    authorization: 'Bearer sk-upstream',
    'sec-websocket-protocol': 'realtime,beta',
    upgrade: 'websocket',
  })
  expect(session.client.protocol).toBe('realtime')
  session.client.close()
  await once(session.upstream, 'close')
  expect(await record()).toMatchObject({ web_socket: true, status: 101, path: '/v1/live', latency_ms: null })
  expect(await stack.usage(client)).toMatchObject({ requests: 1, avg_latency_ms: 0 })
})

test("a browser's key in the subprotocol is taken out, and the session is its client's", async () => {
  const accepted = new Promise<IncomingMessage>((resolve) => {
    onUpgrade = (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        resolve(request)
        webSocket.close()
      })
  })
  const webSocket = new WebSocket(`${stack.url.replace('http', 'ws')}/v1/live`, [
    'realtime',
    `openai-insecure-api-key.${client.key}`,
    'openai-beta.realtime-v1',
  ])
  const request = await accepted
  await once(webSocket, 'close')
  expect(request.headers['sec-websocket-protocol']?.split(/,\s*/)).toEqual([
    'realtime',
    'openai-beta.realtime-v1',
  ])
  expect(JSON.stringify(request.rawHeaders)).not.toContain('tg_')
  expect(await record()).toMatchObject({ outcome: 'complete' })
})

test.each([
  false,
  true,
])('text, binary, empty, large and fragmented messages pass both ways, byte for byte (compressed: %s)', async (deflate) => {
  const session = await connect({ deflate })
  const sent: [Buffer, boolean][] = [
    [Buffer.from('{"type":"session.update","text":"é€😀"}'), false],
    [randomBytes(70_000), true],
    [Buffer.alloc(0), true],
    [Buffer.from(''), false],
    [randomBytes(300_000), true],
    [Buffer.from('x'.repeat(125)), false],
    [Buffer.from('last'), false],
  ]
  for (const [from, to] of [
    [session.client, session.upstream],
    [session.upstream, session.client],
  ] as const) {
    const arrived = messages(to, sent.length + 1)
    for (const [bytes, binary] of sent) from.send(bytes, { binary })
    from.send('frag', { fin: false })
    from.send('men', { fin: false })
    from.send('ted', { fin: true })
    expect(await arrived).toEqual([...sent, [Buffer.from('fragmented'), false]])
  }
  const ponged = once(session.client, 'pong')
  session.client.ping('are you there?')
  expect((await ponged)[0].toString()).toBe('are you there?')
  session.client.close()
  await once(session.client, 'close')
  expect(await record()).toMatchObject({ outcome: 'complete', input_tokens: null })
})

test.each(['client', 'upstream'] as const)('a close code and its reason pass from the %s', async (side) => {
  const session = await connect()
  const other = side === 'client' ? session.upstream : session.client
  const closed = once(other, 'close')
  const ownClosed = once(session[side], 'close')
  session[side].close(4321, 'enough for today')
  const [code, reason] = await closed
  expect([code, reason.toString()]).toEqual([4321, 'enough for today'])
  await ownClosed
  expect(await record()).toMatchObject({ outcome: 'complete', status: 101 })
})

test('ended sessions leave no connection behind, on either side', async () => {
  const sessions: Session[] = []
  for (let n = 0; n < 4; n += 1) sessions.push(await connect())
  sessions[0]?.client.close()
  sessions[1]?.upstream.close()
  sessions[2]?.client.terminate()
  sessions[3]?.upstream.terminate()
  await stack.usageOf(client, 4)
  const outcomes = (await stack.calls(client)).map(({ outcome }) => outcome)
  expect(outcomes.slice(0, 2)).toEqual(['complete', 'complete'])
  await expect.poll(() => sockets.clients.size).toBe(0)
  // What is left are idle connections for calls, none of which was made here but the list of models.
  await expect.poll(() => connectionsOf(upstream)).toBeLessThanOrEqual(1)
})

test("a handshake that the upstream refuses is refused with the upstream's status, headers and body", async () => {
  onUpgrade = (_request, socket) =>
    socket.end(
      'HTTP/1.1 418 Teapot\r\nX-Why: tea\r\nContent-Length: 9\r\nContent-Type: text/plain\r\n\r\nno coffee',
    )
  expect(await refusalOf(open())).toEqual([418, 'no coffee'])
  // No session was made of it: it was a GET.
  expect(await record()).toMatchObject({ web_socket: false, status: 418, outcome: 'complete' })
})

test('an upstream that drops the handshake: 502, one record', async () => {
  onUpgrade = (_request, socket) => socket.destroy()
  const [status, body] = await refusalOf(open())
  expect([status, JSON.parse(body).error.code]).toEqual([502, 'upstream_unreachable'])
  expect(await record()).toMatchObject({ status: null, outcome: 'upstream_error' })
})

test('an upstream that does not answer the handshake: 504 in time, one record', async () => {
  onUpgrade = () => {}
  const [status, body] = await refusalOf(open())
  expect([status, JSON.parse(body).error.code]).toEqual([504, 'upstream_timeout'])
  expect(await record()).toMatchObject({ status: null, outcome: 'upstream_error' })
})

test('an upstream that is down: 502, one record', async () => {
  const away = await startStack('http://127.0.0.1:1')
  const caller = await away.addClient('alone')
  const webSocket = new WebSocket(`${away.url.replace('http', 'ws')}/v1/live`, {
    headers: { authorization: `Bearer ${caller.key}` },
  })
  expect((await refusalOf(webSocket))[0]).toBe(502)
  await away.usageOf(caller, 1)
  await away.stop()
})

test('a silent session outlives the time for the handshake', async () => {
  const session = await connect()
  const early = once(session.client, 'close').then(() => 'closed')
  const later = new Promise((resolve) => setTimeout(resolve, 900, 'open')) // past UPSTREAM_HEADERS_TIMEOUT_MS
  expect(await Promise.race([early, later])).toBe('open')
  session.client.close()
  await early
})

test('a revoked key closes its sessions with 1008, in the middle of a stream too, and is refused from then on', async () => {
  const session = await connect()
  const flood = setInterval(() => session.upstream.send(randomBytes(10_000)), 1)
  session.upstream.on('close', () => clearInterval(flood))
  session.client.on('message', () => {})
  const closed = once(session.client, 'close')
  const upstreamClosed = once(session.upstream, 'close')
  await revokeKey(stack.pool, client.keyId)
  const revokedAt = performance.now()
  expect((await closed)[0]).toBe(1008)
  expect(performance.now() - revokedAt).toBeLessThan(2_000 * busyness())
  await upstreamClosed
  expect((await refusalOf(open()))[0]).toBe(403)
})

test('without a key, with an unknown one, for a model that is not allowed: refused, nothing goes upstream', async () => {
  let upgrades = 0
  onUpgrade = (_request, socket) => {
    upgrades += 1
    socket.destroy()
  }
  const url = stack.url.replace('http', 'ws')
  expect((await refusalOf(new WebSocket(`${url}/v1/realtime?model=gpt-realtime`)))[0]).toBe(401)
  expect((await refusalOf(new WebSocket(`${url}/v1/realtime?key=tg_unknown`)))[0]).toBe(401)
  client = await stack.addClient('restricted', { models: ['gpt-realtime-mini'] })
  for (const path of [
    '/v1/realtime?model=gpt-realtime',
    '/v1/realtime?model=gpt-realtime-mini&model=gpt-realtime',
    '/v1/realtime?model=gpt-realtime-mini&deployment=gpt-realtime', // Azure's name for it
    '/v1/realtime?deployment=gpt-realtime',
    '/v1/realtime',
    '/v1/responses?model=gpt-realtime-mini', // each of its messages names a model
    '/v1/live?model=gpt-realtime-mini',
  ]) {
    const [status, body] = await refusalOf(open(path))
    expect([path, status, JSON.parse(body).error.code]).toEqual([path, 403, 'model_not_allowed'])
  }
  expect(upgrades).toBe(0)
})

test('a key with a list of models opens realtime sessions of these', async () => {
  client = await stack.addClient('realtime', { models: ['gpt-realtime-mini'] })
  const session = await connect({ path: '/v1/realtime?model=gpt-realtime-mini' })
  session.client.close()
  await once(session.client, 'close')
  expect(await record()).toMatchObject({ requested_model: 'gpt-realtime-mini', outcome: 'complete' })
})

test('a client gone before the handshake was answered: the upstream sees it, one record', async () => {
  const arrived = new Promise<Duplex>((resolve) => {
    onUpgrade = (_request, socket) => resolve(socket)
  })
  const webSocket = open()
  webSocket.on('error', () => {})
  const socket = await arrived
  const closed = once(socket.resume(), 'end')
  webSocket.terminate()
  await closed
  expect(await record()).toMatchObject({ outcome: 'client_aborted', status: null })
})

test('a path that leaves the upstream is refused, as for any call', async () => {
  let upgrades = 0
  onUpgrade = (_request, socket) => {
    upgrades += 1
    socket.destroy()
  }
  for (const path of [
    '/v1/../admin',
    '/v1/%2e%2e/admin',
    '//elsewhere.test/v1',
    'http://elsewhere.test/v1',
  ]) {
    const socket = dial(stack.url)
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer ${client.key}\r\n\r\n`,
    )
    const [answer] = await once(socket, 'data')
    expect([path, answer.toString('latin1')]).toEqual([path, expect.stringMatching(/^HTTP\/1.1 40[04] /)])
    socket.destroy()
  }
  expect(upgrades).toBe(0)
})

test('an Upgrade to anything else is dropped, the call goes on', async () => {
  const answer = await new Promise<string>((resolve) => {
    const socket = dial(stack.url)
    socket.on('data', (bytes) => resolve(bytes.toString('latin1')))
    socket.write(
      `GET /v1/x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nAuthorization: Bearer ${client.key}\r\n\r\n`,
    )
  })
  expect(answer).toMatch(/^HTTP\/1.1 200 OK/)
})

test.each([
  ['the gateway', 'tg_nobody'],
  ['the upstream', ''],
])('a client that %s refused and that keeps its half of the connection open does not keep ours', async (_who, key) => {
  onUpgrade = (_request, socket) =>
    socket.end('HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  const { hostname, port } = new URL(stack.url)
  const socket = createConnection({ host: hostname, port: Number(port), allowHalfOpen: true })
  const upgrade = ['GET /v1/live HTTP/1.1', 'Host: here', 'Connection: Upgrade', 'Upgrade: websocket']
  const handshake = ['Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`]
  const credential = `Authorization: Bearer ${key === '' ? client.key : key}`
  socket.write(`${[...upgrade, ...handshake, credential].join('\r\n')}\r\n\r\n`)
  await once(socket.resume(), 'end')
  const lost = once(socket, 'error')
  const writing = setInterval(() => socket.write('still here'), 100)
  expect((await lost)[0]).toMatchObject({ code: expect.stringMatching(/^(EPIPE|ECONNRESET)$/) })
  clearInterval(writing)
})

test('a client that dies without a close frame ends its session within seconds, whatever the upstream does', async () => {
  const done = JSON.stringify({
    type: 'response.done',
    response: { id: 'resp_1', usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 } },
  })
  let upstreamEnded = false
  const upstreamClosed = new Promise<void>((resolve) => {
    onUpgrade = (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      socket.write(
        Buffer.concat([Buffer.from([0x81, 126, done.length >> 8, done.length & 0xff]), Buffer.from(done)]),
      )
      // Its own side stays open when the client's ends.
      socket.resume().on('end', () => (upstreamEnded = true))
      socket.on('error', () => {}).on('close', () => resolve())
      const writing = setInterval(() => socket.writable && socket.write(Buffer.from([0x89, 0])), 100)
      socket.on('close', () => clearInterval(writing))
    }
  })
  const socket = dial(stack.url)
  const head = [
    'GET /v1/realtime?model=gpt-realtime HTTP/1.1',
    'Host: a',
    'Connection: Upgrade',
    'Upgrade: websocket',
  ]
  const handshake = ['Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`]
  socket.write(`${[...head, ...handshake, `Authorization: Bearer ${client.key}`].join('\r\n')}\r\n\r\n`)
  let seen = ''
  while (!seen.includes('response.done')) seen += (await once(socket, 'data'))[0]
  socket.end()
  expect(await record()).toMatchObject({
    ...{ outcome: 'client_aborted', status: 101, usage_source: 'reported' },
    ...{ input_tokens: '100', output_tokens: '20' },
  })
  await upstreamClosed
  expect(upstreamEnded).toBe(true)
})
