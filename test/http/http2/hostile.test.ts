import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openSession, send, startFront, type TestFront } from './front.ts'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GET,
  HEADERS,
  POST,
  PRIORITY,
  RawClient,
  RST_STREAM,
  uint32,
  WINDOW_UPDATE,
} from './raw-frames.ts'

const IDLE_MS = 100
/** SETTINGS_INITIAL_WINDOW_SIZE of 0 */
const NO_WINDOW = Buffer.from([0, 4, 0, 0, 0, 0])

let front: TestFront
let listener: RequestListener
let begun: number
const clients: RawClient[] = []

beforeAll(async () => {
  front = await startFront(
    (request, response) => {
      begun += 1
      listener(request, response)
    },
    null,
    IDLE_MS,
  )
})

afterAll(async () => {
  await front?.close()
})

beforeEach(() => {
  begun = 0
  listener = (_request, response) => response.end('ok')
})

afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.destroy()
})

/** A client that keeps its own end open. */
function open(settings?: Buffer, url = front.url): RawClient {
  const client = new RawClient(url, settings, true)
  clients.push(client)
  return client
}

const connections = () =>
  new Promise<number>((resolve) => front.server.getConnections((_error, count) => resolve(count)))
const request = (id: number, block = GET, flags = END_STREAM | END_HEADERS) =>
  frame(HEADERS, flags, id, block)

/** One request of a client of Node's. */
async function ask(path = '/') {
  const session = openSession(front.url)
  const answer = await send(session, { ':path': path })
  session.destroy()
  return answer
}

test('a session that idles is closed, and its connection too, though its client keeps its end open', async () => {
  const client = open()
  await expect.poll(() => client.isEnded).toBe(true)
  await expect.poll(connections).toBe(0)
})

test('a head that never ends keeps no connection', async () => {
  const client = open()
  client.send(request(1, GET, END_STREAM))
  await expect.poll(() => client.isEnded).toBe(true)
  await expect.poll(connections).toBe(0)
  expect(begun).toBe(0)
})

test('the preface and nothing behind it keeps no connection', async () => {
  const socket = connect({ port: Number(new URL(front.url).port), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.resume()
  await expect.poll(() => socket.readableEnded || socket.destroyed).toBe(true)
  await expect.poll(connections).toBe(0)
  socket.destroy()
})

test('a server that stops does not wait for a client that keeps its end open', async () => {
  const own = await startFront((_request, response) => response.end('ok'), null, IDLE_MS)
  const client = open(undefined, own.url)
  client.send(request(1))
  await expect.poll(() => client.isEnded).toBe(true)
  await own.close()
})

test.each([
  ['windows of 0', (id: number) => frame(WINDOW_UPDATE, 0, id, uint32(0))],
  ['windows that are too large', (id: number) => frame(WINDOW_UPDATE, 0, id, uint32(0x7fffffff))],
  ['a priority on itself', (id: number) => frame(PRIORITY, 0, id, Buffer.from([...uint32(id), 1]))],
  ['DATA behind its end', (id: number) => frame(DATA, 0, id, Buffer.from('x'))],
])('a client that makes the server reset its streams, by %s, begins few requests', async (_how, provoke) => {
  listener = () => {} // never answered
  const client = open()
  for (let id = 1; id < 4_000; id += 2) client.send(request(id), provoke(id))
  await expect.poll(() => client.isEnded || client.isClosed || client.frames.length > 100).toBe(true)
  expect(begun).toBeLessThan(400)
})

test('a status that HTTP/2 cannot carry resets that stream, and no other', async () => {
  listener = ({ url }, response) => response.writeHead(url === '/odd' ? 999 : 200).end('x')
  expect((await ask('/odd')).code).not.toBe(0)
  expect((await ask()).status).toBe(200)
})

test.each([204, 205, 304])('an answer of %i ends with its head, and says so', async (status) => {
  listener = (_request, response) => response.writeHead(status).end()
  expect(await ask()).toMatchObject({ status })
  expect((await ask()).status).toBe(status)
})

test('headers of 60 KB in an answer arrive', async () => {
  listener = (_request, response) => {
    for (let at = 0; at < 60; at += 1) response.setHeader(`x-${at}`, 'a'.repeat(1_000))
    response.end('ok')
  }
  const { status, headers } = await ask()
  expect([status, headers['x-59']?.length]).toEqual([200, 1_000])
})

test('a body that is longer than it says resets its stream, and its rest is not another request', async () => {
  const urls: (string | undefined)[] = []
  listener = (incoming, response) => {
    urls.push(incoming.url)
    incoming.on('data', () => {}).on('end', () => response.end('ok'))
  }
  // Field 28 of HPACK's table is content-length.
  const block = Buffer.concat([POST, Buffer.from([0x0f, 0x0d, 1, 0x34])])
  const client = open()
  client.send(
    request(1, block, END_HEADERS),
    frame(DATA, END_STREAM, 1, Buffer.from('bodyGET /smuggled HTTP/1.1\r\n\r\n')),
  )
  await expect
    .poll(
      () =>
        client.isEnded || client.frames.some(({ type, streamId }) => type === RST_STREAM && streamId === 1),
    )
    .toBe(true)
  expect(urls.filter((url) => url !== '/')).toEqual([])
})

test('a client that opens no window for 100 answers keeps no other from its own', async () => {
  listener = (_request, response) => response.end(Buffer.alloc(1_000_000))
  const client = open(NO_WINDOW)
  for (let id = 1; id < 200; id += 2) client.send(request(id))
  await expect.poll(() => begun).toBe(100)
  expect((await ask()).body.length).toBe(1_000_000)
  expect(client.frames.filter(({ type }) => type === DATA)).toEqual([])
})

test('a client that dies in the middle of its answers leaves nothing behind', async () => {
  listener = (_request, response) => response.write('begun')
  const client = open()
  for (let id = 1; id < 100; id += 2) client.send(request(id))
  await expect.poll(() => begun).toBe(50)
  client.socket.resetAndDestroy()
  await expect.poll(connections).toBe(0)
})
