import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, createServer, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { deflateRawSync, gzipSync } from 'node:zlib'
import type { CrowdOrder, CrowdReport } from './crowd.ts'

const HUNG_CALLS = 1_500
const NEVER_READERS = 60
const UNREAD_BYTES = 30_000_000
const BODY_BYTES = 60_000_000
const BOMB_SESSIONS = 10
/** The words of a long answer, each an event of its own. */
const EVENTS = 100
const EVENT_EVERY_MS = 50

const CHUNK = Buffer.alloc(65_536, 'x')
/** 64 MB of spaces in 64 KB. */
const BOMB = gzipSync(
  Buffer.concat([Buffer.from('{"x":"'), Buffer.alloc(64_000_000, ' '), Buffer.from('"}')]),
)
/** The same as one message of a WebSocket, though no extension was agreed on. */
const FRAME_BOMB = frame(0xc1, deflateRawSync(Buffer.alloc(16_000_000, ' ')))
const ANSWER = JSON.stringify({
  model: 'gpt-4o-mini',
  choices: [],
  usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
})
const CHAT = '/v1/chat/completions'

let goesOn = false
let upstreamCalls = 0
let upstreamConnections = 0
let mostConnections = 0
/** Calls that are never answered: they end with the attack. */
const hanging: ServerResponse[] = []
let firstEvents = 0
let statuses: Record<string, number> = {}

function report(word: CrowdReport): void {
  parentPort?.postMessage(word)
}

function counted(status: number | string): void {
  statuses[status] = (statuses[status] ?? 0) + 1
}

/** Answers as the model's name says. */
const upstream = createServer(async (incoming, response) => {
  // Also those whose bodies are cut on their way.
  if (incoming.url !== '/v1/models') upstreamCalls += 1
  let asked = ''
  incoming.on('data', (chunk: Buffer) => {
    if (asked.length < 1_000) asked += chunk.toString('latin1', 0, 1_000)
  })
  incoming.on('error', () => {})
  response.on('error', () => {})
  await once(incoming, 'end').catch(() => null)
  if (incoming.url === '/v1/models') {
    response.setHeader('content-type', 'application/json')
    response.end('{"object":"list","data":[{"id":"gpt-4o-mini","object":"model","owned_by":"system"}]}')
    return
  }
  if (asked.includes('"hang"')) {
    hanging.push(response)
    return
  }
  if (asked.includes('"bomb"')) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(BOMB)
    return
  }
  if (asked.includes('"unread"')) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': UNREAD_BYTES })
    for (let sent = 0; sent < UNREAD_BYTES && !response.destroyed; sent += CHUNK.length)
      if (!response.write(CHUNK)) await roomIn(response)
    response.end()
    return
  }
  if (asked.includes('"long"')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let event = 0; event < EVENTS && !response.destroyed; event += 1) {
      response.write('data: {"model":"gpt-4o-mini","choices":[{"index":0,"delta":{"content":" word"}}]}\n\n')
      if (event === 0) firstEvents += 1
      await delay(EVENT_EVERY_MS)
    }
    response.end(
      `data: {"model":"gpt-4o-mini","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":${EVENTS}}}\n\ndata: [DONE]\n\n`,
    )
    return
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length }).end(ANSWER)
})
upstream.on('connection', (socket) => {
  upstreamConnections += 1
  mostConnections = Math.max(mostConnections, upstreamConnections)
  socket.on('close', () => {
    upstreamConnections -= 1
  })
})
upstream.on('upgrade', (incoming, socket) => {
  const accept = createHash('sha1')
    .update(`${incoming.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  upstreamCalls += 1
  socket.on('error', () => {})
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n`,
  )
  for (let count = 0; count < 10; count += 1) socket.write(FRAME_BOMB)
  socket.resume()
  socket.on('end', () => socket.end())
})

/** Resolves once more can be written, or the connection is gone. */
function roomIn(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = () => {
    response.off('drain', done)
    response.off('close', done)
    resolve()
  }
  response.on('drain', done)
  response.on('close', done)
  return promise
}

/** A frame with its payload of at most 64 KB, masked with zeros where it is a client's. */
function frame(first: number, payload: Buffer, isClients = false): Buffer {
  const mask = isClients ? Buffer.alloc(4) : Buffer.alloc(0)
  const head = Buffer.alloc(4)
  head[0] = first
  head[1] = 126 | (isClients ? 0x80 : 0)
  head.writeUInt16BE(payload.length, 2)
  return Buffer.concat([head, mask, payload])
}

/** The clients' sockets: one a call, which end with the attack. */
const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY, keepAlive: false })
const open = new Set<Socket>()

interface Call {
  readonly url: string
  readonly key: string
  readonly body: string | Buffer
  /** Whether the answer is left on the wire. */
  readonly isUnread?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** Its status, or how it failed. */
async function post({ url, key, body, isUnread = false, headers = {} }: Call): Promise<void> {
  const sent = request(url + CHAT, {
    agent,
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...headers,
    },
  })
  sent.on('socket', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => {
    sent.on('error', () => resolve())
    sent.on('close', () => resolve())
    sent.on('response', (response) => {
      counted(response.statusCode ?? 0)
      response.on('error', () => {})
      if (isUnread) response.pause()
      else response.resume()
    })
    sent.end(body)
  })
}

function bodyOf(model: string, fields: object = {}): string {
  return JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], ...fields })
}

/** One session that sends compressed messages, though none were agreed on. */
function bombSession(url: string, key: string): void {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  open.add(socket)
  socket.on('error', () => {})
  socket.on('close', () => {
    open.delete(socket)
    setTimeout(() => goesOn && bombSession(url, key), 100)
  })
  socket.write(
    `GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-extensions: permessage-deflate\r\nauthorization: Bearer ${key}\r\n\r\n`,
  )
  socket.once('data', () => {
    const bomb = frame(0xc1, FRAME_BOMB.subarray(4), true)
    for (let count = 0; count < 60; count += 1) socket.write(bomb)
    socket.resume()
  })
}

async function again(call: Call): Promise<void> {
  while (goesOn) {
    await post(call)
    await delay(10)
  }
}

async function everything(url: string, key: string): Promise<void> {
  const escapes = Buffer.concat([
    Buffer.from('{"model":"gpt-4o-mini"'),
    Buffer.alloc(BODY_BYTES, ',"\\u0061":1'),
    Buffer.from('}'),
  ])
  const brackets = Buffer.concat([Buffer.from('{"model":"gpt-4o-mini","x":'), Buffer.alloc(BODY_BYTES, '[')])
  let ended = 0
  const hung = Array.from({ length: HUNG_CALLS }, async () => {
    await post({ url, key, body: bodyOf('hang') })
    ended += 1
  })
  // One that was refused, or whose connection broke, never hangs: its status is reported.
  while (hanging.length + ended < HUNG_CALLS) await delay(50)
  const others = [
    ...Array.from({ length: NEVER_READERS }, () =>
      post({ url, key, body: bodyOf('unread'), isUnread: true }),
    ),
    ...Array.from({ length: 4 }, () => again({ url, key, body: bodyOf('bomb') })),
    again({ url, key, body: escapes }),
    again({ url, key, body: brackets }),
  ]
  for (let count = 0; count < BOMB_SESSIONS; count += 1) bombSession(url, key)
  await delay(2_000)
  report({ isUnderWay: true })
  await Promise.all([...hung, ...others])
}

/** Each client reads the beginning of a long answer and is gone, all at once. */
async function hangUp(url: string, keys: readonly string[]): Promise<void> {
  const calls = keys.map((key) =>
    post({ url, key, body: bodyOf('long', { stream: true, web_search_options: {} }) }),
  )
  const until = performance.now() + 60_000
  while (firstEvents < keys.length && performance.now() < until) await delay(20)
  await delay(200)
  for (const socket of open) socket.destroy()
  report({ isUnderWay: true })
  await Promise.all(calls)
}

let attack: Promise<void> = Promise.resolve()
parentPort?.on('message', async (order: CrowdOrder) => {
  goesOn = order !== null
  if (order !== null) {
    const { url, keys } = order
    ;[upstreamCalls, mostConnections, firstEvents] = [0, upstreamConnections, 0]
    statuses = {}
    attack = order.attack === 'everything' ? everything(url, keys[0] ?? '') : hangUp(url, keys)
    return
  }
  for (const socket of open) socket.destroy()
  await attack
  for (const response of hanging.splice(0)) response.destroy()
  report({ ended: { upstreamCalls, upstreamConnections: mostConnections, statuses } })
})

await once(upstream.listen(0, '127.0.0.1', 4_096), 'listening')
report({ upstreamUrl: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` })
