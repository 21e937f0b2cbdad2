import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { constants } from 'node:http2'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openSession, send, startFront, type TestFront } from './front.ts'

let front: TestFront
let listener: RequestListener
let session: ReturnType<typeof openSession>

beforeAll(async () => {
  front = await startFront((request, response) => listener(request, response))
  session = openSession(front.url)
})

afterAll(async () => {
  session?.destroy()
  await front?.close()
})

beforeEach(() => {
  listener = (_request, response) => response.end('ok')
})

test('a request arrives as one of HTTP/1.1: its host by :authority, cookies as one, latin1 as it is', async () => {
  let seen: IncomingMessage | null = null
  listener = (request, response) => {
    seen = request
    response.end()
  }
  const { status } = await send(session, {
    ':method': 'PROPFIND',
    ':path': '/a//b?x=%2f',
    ':authority': 'models.test',
    'x-name': 'caf\xe9',
    cookie: ['a=1', 'b=2'],
    te: 'trailers',
  })
  expect(status).toBe(200)
  expect(seen).toMatchObject({
    method: 'PROPFIND',
    url: '/a//b?x=%2f',
    httpVersion: '1.1',
    rawHeaders: [
      ...['host', 'models.test', 'x-name', 'caf\xe9', 'te', 'trailers'],
      ...['cookie', 'a=1; b=2', 'connection', 'close'],
    ],
  })
})

test.each([
  ['of known length', 200_000, true],
  ['of unknown length', 200_000, false],
  ['that is empty', 0, false],
])('a body %s comes whole, there and back', async (_what, bytes, isAnnounced) => {
  listener = async (request, response) => {
    const body = await buffer(request)
    if (isAnnounced) response.setHeader('content-length', body.length)
    for (let at = 0; at < body.length; at += 30_000) response.write(body.subarray(at, at + 30_000))
    response.end()
  }
  const sent = randomBytes(bytes)
  const length = isAnnounced ? { 'content-length': bytes } : {}
  const { body, code, headers } = await send(session, { ':method': 'POST', ':path': '/', ...length }, sent)
  expect(digest(body)).toBe(digest(sent))
  expect(code).toBe(0)
  expect(headers['content-length']).toBe(isAnnounced || bytes === 0 ? `${bytes}` : undefined)
})

test('an answer leaves without the fields of a connection, others keep order, repetition and bytes', async () => {
  listener = (_request, response) => {
    response.sendDate = false
    response.writeHead(201, [
      ...['X-B', '1', 'Connection', 'keep-alive', 'Keep-Alive', 'timeout=5', 'Upgrade', 'h2c'],
      ...['x-a', 'caf\xe9', 'X-B', '2', 'Content-Type', 'a/b', 'Set-Cookie', 'a=1', 'set-cookie', 'b=2'],
    ])
    response.end('made')
  }
  const { status, headers, body } = await send(session, { ':path': '/' })
  expect([status, body.toString()]).toEqual([201, 'made'])
  const { [constants.HTTP2_HEADER_SET_COOKIE]: cookies, ...others } = headers
  expect(cookies).toEqual(['a=1', 'b=2'])
  expect(others).toEqual({ 'x-b': '1, 2', 'x-a': 'caf\xe9', 'content-type': 'a/b' })
})

test('trailers follow their answer', async () => {
  listener = (_request, response) => {
    response.writeHead(200, { trailer: 'x-sum' })
    response.write('body')
    response.addTrailers({ 'X-Sum': '4' })
    response.end()
  }
  const { body, trailers } = await send(session, { ':path': '/' })
  expect(body.toString()).toBe('body')
  expect(trailers).toEqual({ 'x-sum': '4' })
})

test.each(['HEAD', 'GET'])('%s: an answer that has no body ends with its head', async (method) => {
  listener = (_request, response) => {
    if (method === 'HEAD') response.writeHead(200, { 'content-length': '10' }).end()
    else response.writeHead(304, { etag: 'x' }).end()
  }
  const { status, body, code } = await send(session, { ':method': method, ':path': '/' })
  expect([status, body.length, code]).toEqual([method === 'HEAD' ? 200 : 304, 0, 0])
})

test('a stream that its client resets closes the answer of that call, and of no other', async () => {
  const responses: ServerResponse[] = []
  listener = (request, response) => {
    if (request.url === '/kept') response.end('kept')
    else {
      responses.push(response)
      response.write('begun')
    }
  }
  const left = session.request({ ':path': '/left' })
  left.on('error', () => {})
  await new Promise((resolve) => left.once('data', resolve))
  left.close(constants.NGHTTP2_CANCEL)
  await expect.poll(() => responses[0]?.destroyed).toBe(true)
  expect(responses[0]?.writableFinished).toBe(false)
  expect((await send(session, { ':path': '/kept' })).body.toString()).toBe('kept')
})

test('an answer that was read whole is finished before its connection closes', async () => {
  const events: string[] = []
  listener = (_request, response) => {
    for (const event of ['finish', 'close']) response.on(event, () => events.push(event))
    response.end('whole')
  }
  await send(session, { ':path': '/' })
  await expect.poll(() => events).toEqual(['finish', 'close'])
})

test('an answer that the server cuts is a stream that is reset, behind what was written', async () => {
  listener = (_request, response) => {
    response.write('some')
    setImmediate(() => response.destroy())
  }
  const { status, body, code } = await send(session, { ':path': '/' })
  expect([status, body.toString(), code]).toEqual([200, 'some', constants.NGHTTP2_INTERNAL_ERROR])
})

test('a client that does not read holds the answer back', async () => {
  let written = 0
  let drained = false
  listener = (request, response) => {
    if (request.method === 'HEAD') {
      response.end()
      return
    }
    const piece = Buffer.alloc(64 * 1024)
    while (written < 4_000_000 && response.write(piece)) written += piece.length
    response.once('drain', () => {
      drained = true
      response.end()
    })
  }
  const stream = session.request({ ':path': '/' })
  stream.pause()
  await new Promise((resolve) => stream.once('response', resolve))
  expect((await send(session, { ':method': 'HEAD', ':path': '/' })).status).toBe(200)
  expect(written).toBeLessThan(1_000_000)
  expect(drained).toBe(false)
  stream.resume()
  await expect.poll(() => drained).toBe(true)
})

test('a request that is not read holds its client back, and is dropped once it is answered', async () => {
  const responses: ServerResponse[] = []
  listener = (request, response) => {
    if (request.method === 'POST') responses.push(response)
    else response.end()
  }
  const stream = session.request({ ':method': 'POST', ':path': '/' })
  stream.on('error', () => {})
  for (let i = 0; i < 64; i += 1) stream.write(Buffer.alloc(64 * 1024))
  await expect.poll(() => responses.length).toBe(1)
  expect((await send(session, { ':method': 'HEAD', ':path': '/' })).status).toBe(200)
  expect(stream.writableLength).toBeGreaterThan(1_000_000)
  responses[0]?.end('early')
  const pieces: Buffer[] = []
  stream.on('data', (found: Buffer) => pieces.push(found))
  await new Promise((resolve) => stream.once('close', resolve))
  expect(Buffer.concat(pieces).toString()).toBe('early')
  expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR)
})

test('HTTP/1.1 is served beside it, also one piece after the other', async () => {
  const socket = connect(Number(new URL(front.url).port), '127.0.0.1')
  for (const piece of ['GET /', 'x HTTP', '/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']) {
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
})

test('the preface of HTTP/2 in pieces is one', async () => {
  const socket = connect(Number(new URL(front.url).port), '127.0.0.1')
  for (const piece of ['PRI * HT', 'TP/2.0\r\n\r\nS', 'M\r\n\r\n\0\0\0\x04\0\0\0\0\0']) {
    socket.write(Buffer.from(piece, 'latin1'))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const [first] = await Promise.all([new Promise<Buffer>((resolve) => socket.once('data', resolve))])
  // SETTINGS
  expect(first[3]).toBe(4)
  socket.destroy()
})

test('the preface behind a request of HTTP/1.1 is an error', async () => {
  const socket = connect(Number(new URL(front.url).port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  await buffer(socket)
  expect(front.errors).toEqual(['HPE_PAUSED_H2_UPGRADE'])
})

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
