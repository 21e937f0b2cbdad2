import type { RequestListener, ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openSession, send, startFront, type TestFront } from './front.ts'
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GET,
  HEADERS,
  PING,
  POST,
  PRIORITY,
  RawClient,
  RST_STREAM,
  SETTINGS,
  uint32,
  WINDOW_UPDATE,
} from './raw-frames.ts'

const PROTOCOL_ERROR = 1
const FLOW_CONTROL_ERROR = 3
const CANCEL = 8
const EXCESSIVE_LOAD = 0xb
const EMPTY_SETTINGS = frame(SETTINGS, 0, 0)

let front: TestFront
let listener: RequestListener
let requests: number
let other: ReturnType<typeof openSession>
let attacker: RawClient | null = null

beforeAll(async () => {
  front = await startFront((request, response) => {
    if (request.url === '/other') response.end('served')
    else {
      requests += 1
      listener(request, response)
    }
  })
  other = openSession(front.url)
})

afterAll(async () => {
  other?.destroy()
  await front?.close()
})

beforeEach(() => {
  requests = 0
  listener = (_request, response) => response.end('ok')
})

afterEach(async () => {
  // Whatever happened: others are served as ever.
  expect((await send(other, { ':path': '/other' })).body.toString()).toBe('served')
  attacker?.socket.destroy()
  attacker = null
})

function attack(settings?: Buffer): RawClient {
  attacker = new RawClient(front.url, settings)
  return attacker
}

const open = (id: number, block = GET, flags = END_HEADERS | END_STREAM) => frame(HEADERS, flags, id, block)
const reset = (id: number) => frame(RST_STREAM, 0, id, uint32(CANCEL))

test('streams that are reset at once never become requests, and too many of them end the session', async () => {
  const client = attack()
  const ids = Array.from({ length: 2_000 }, (_, i) => 2 * i + 1)
  client.send(...ids.flatMap((id) => [open(id), reset(id)]))
  await expect.poll(() => client.goneBy).not.toBeNull()
  await expect.poll(() => client.isClosed).toBe(true)
  expect(client.goneBy).not.toBe(0)
  expect(requests).toBeLessThan(100)
})

test('a flood of SETTINGS ends the session', async () => {
  const client = attack()
  client.send(...Array.from({ length: 500 }, () => EMPTY_SETTINGS))
  await expect.poll(() => client.isClosed).toBe(true)
  expect(client.goneBy).toBe(EXCESSIVE_LOAD)
})

test('a flood of PING ends the session', async () => {
  const client = attack()
  client.send(...Array.from({ length: 500 }, () => frame(PING, 0, 0, Buffer.alloc(8))))
  await expect.poll(() => client.isClosed).toBe(true)
  expect(client.goneBy).toBe(EXCESSIVE_LOAD)
})

test('a head without an end, by CONTINUATION, ends the session', async () => {
  const client = attack()
  // Literals without a place in the table: `a: a`.
  const field = Buffer.from([0, 1, 0x61, 1, 0x61])
  client.send(open(1, GET, 0), ...Array.from({ length: 1_000 }, () => frame(CONTINUATION, 0, 1, field)))
  await expect.poll(() => client.isClosed).toBe(true)
  expect(client.goneBy).not.toBe(0)
  expect(requests).toBe(0)
})

test('a small head that HPACK makes a large one is refused, and its stream reset', async () => {
  const client = attack()
  // One field of 4,000 bytes goes into the table, then a byte each names it again: 16 MB of head in 4 KB.
  const large = Buffer.concat([Buffer.from([0x40, 1, 0x61, 0x7f, 0xa1, 0x1e]), Buffer.alloc(4_000, 0x61)])
  client.send(open(1, Buffer.concat([GET, large, Buffer.alloc(4_000, 0xbe)])))
  await expect.poll(() => client.frames.some(({ type }) => type === RST_STREAM) || client.isClosed).toBe(true)
  expect(requests).toBe(0)
})

test('a flood of empty DATA ends the session', async () => {
  const client = attack()
  client.send(open(1, POST, END_HEADERS), ...Array.from({ length: 1_000 }, () => frame(DATA, 0, 1)))
  await expect.poll(() => client.isClosed).toBe(true)
})

test('a window of 0 holds the answer back, and memory stays bounded', async () => {
  const responses: ServerResponse[] = []
  let written = 0
  listener = (_request, response) => {
    responses.push(response)
    const piece = Buffer.alloc(16 * 1024)
    do written += piece.length
    while (response.write(piece))
  }
  // SETTINGS_INITIAL_WINDOW_SIZE
  const client = attack(Buffer.from([0, 4, 0, 0, 0, 0]))
  client.send(...Array.from({ length: 100 }, (_, i) => open(2 * i + 1)))
  await expect.poll(() => responses.length).toBe(100)
  expect(written / 100).toBeLessThan(256 * 1024)
  expect(client.frames.filter(({ type }) => type === DATA)).toEqual([])
  client.socket.destroy()
  await expect.poll(() => responses.every(({ destroyed }) => destroyed)).toBe(true)
})

test('of more streams than 100 at once none becomes a request', async () => {
  listener = () => {} // never answered
  const client = attack()
  client.send(...Array.from({ length: 300 }, (_, i) => open(2 * i + 1)))
  await expect
    .poll(() => client.frames.some(({ type, code }) => type === RST_STREAM || code !== null))
    .toBe(true)
  await expect.poll(() => requests).toBeLessThanOrEqual(100)
})

test('a flood of PRIORITY delays no other client, and opens nothing', async () => {
  const client = attack()
  const ids = Array.from({ length: 20_000 }, (_, i) => 2 * i + 1)
  client.send(...ids.map((id) => frame(PRIORITY, 0, id, Buffer.from([0, 0, 0, 0, 16]))))
  const { body } = await send(other, { ':path': '/other' })
  expect(body.toString()).toBe('served')
  client.send(frame(PING, 0, 0, Buffer.alloc(8)))
  await expect.poll(() => client.isClosed || client.frames.some(({ type }) => type === PING)).toBe(true)
  expect(requests).toBe(0)
})

test.each([
  ['by nothing', 0, PROTOCOL_ERROR],
  ['beyond its end', 0x7fffffff, FLOW_CONTROL_ERROR],
])('a window of the session that grows %s ends it', async (_what, increment, code) => {
  const client = attack()
  client.send(frame(WINDOW_UPDATE, 0, 0, uint32(increment)))
  await expect.poll(() => client.isClosed).toBe(true)
  expect(client.goneBy).toBe(code)
})

test('a session without a stream ends after its time, though it sends PING', async () => {
  const short = await startFront(() => {}, null, 50)
  const client = new RawClient(short.url)
  const pings = setInterval(() => client.send(frame(PING, 0, 0, Buffer.alloc(8))), 10)
  await expect.poll(() => client.isClosed).toBe(true)
  clearInterval(pings)
  expect(client.goneBy).toBe(0)
  await short.close()
})
