import type { Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { ConnectionPool } from '../src/connection-pool.ts'
import { send } from './taken-answer.ts'
import { answerOf, startUpstreamServer, type UpstreamServer } from './upstream-server.ts'

const LIMITS = { connectMs: 5_000, headersMs: 5_000, bodyMs: 5_000 }
const HEAD = 'POST / HTTP/1.1\r\nhost: upstream\r\nconnection: keep-alive\r\n'

let pool: ConnectionPool
let server: UpstreamServer

async function start(onData: (socket: Socket, text: string, connection: number) => void) {
  server = await startUpstreamServer(onData)
  pool = new ConnectionPool(server.origin, LIMITS)
}

afterEach(async () => {
  await pool.destroy()
  await server.close()
})

const received = () => server.received[0] ?? ''
/** Answers once the request ends so. */
const answerBehind = (end: string) => (socket: Socket) =>
  received().endsWith(end) && socket.write(answerOf('x'))
const post = (body: Buffer | Readable | null, ...headers: string[]) =>
  send(pool, { method: 'POST', headers: ['host', 'upstream', ...headers], body })

test.each([
  1,
  16 * 1024,
  16 * 1024 + 1,
  1024 * 1024,
])('a body of %i bytes goes out with its length', async (bytes) => {
  await start(answerBehind('z'))
  const body = Buffer.alloc(bytes, 'y')
  body[bytes - 1] = 0x7a
  expect((await post(body, 'Content-Length', '99').ended).status).toBe(200)
  expect(received()).toBe(`${HEAD}content-length: ${bytes}\r\n\r\n${body.toString('latin1')}`)
  expect(pool.size).toEqual({ open: 1, kept: 1 })
})

test('bytes of head and body leave as they are', async () => {
  await start(answerBehind('\xff'))
  const body = Buffer.from([0, 0x80, 0xe9, 0xff])
  await post(body, 'x', 'caf\xe9').ended
  expect(received()).toBe(`${HEAD}x: caf\xe9\r\ncontent-length: 4\r\n\r\n\0\x80\xe9\xff`)
})

test.each([null, Buffer.alloc(0)])('without a body, a POST says that its length is 0', async (body) => {
  await start(answerBehind('\r\n\r\n'))
  await post(body).ended
  expect(received()).toBe(`${HEAD}content-length: 0\r\n\r\n`)
})

test('a stream goes out in chunks as it comes, with the head before its first bytes', async () => {
  await start(answerBehind('0\r\n\r\n'))
  const body = new PassThrough()
  const answer = post(body)
  await delay(50)
  expect([answer.calls, received()]).toEqual([['start'], ''])
  body.write('hello')
  await expect.poll(received).toBe(`${HEAD}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`)
  body.end('y'.repeat(20))
  expect((await answer.ended).status).toBe(200)
  expect(received()).toContain(`\r\n14\r\n${'y'.repeat(20)}\r\n0\r\n\r\n`)
  expect(pool.size).toEqual({ open: 1, kept: 1 })
})

test('a stream of announced length goes out without chunks', async () => {
  await start(answerBehind('world'))
  await post(Readable.from([Buffer.from('hello'), Buffer.from('world')]), 'content-length', '10').ended
  expect(received()).toBe(`${HEAD}content-length: 10\r\n\r\nhelloworld`)
})

test('a stream without bytes is sent as a body of length 0', async () => {
  await start(answerBehind('\r\n\r\n'))
  expect((await post(Readable.from([])).ended).status).toBe(200)
  expect(received()).toBe(`${HEAD}content-length: 0\r\n\r\n`)
})

test.each([
  ['longer', ['hello', 'world'], 7],
  ['shorter', ['hello'], 7],
])('a stream that is %s than announced: an error, and no byte past what was', async (_what, parts, length) => {
  await start(() => {})
  const body = Readable.from(parts.map((part) => Buffer.from(part)))
  const { error } = await post(body, 'content-length', String(length)).ended
  expect(error).toMatchObject({ code: 'invalid_request' })
  await expect.poll(received).toBe(`${HEAD}content-length: ${length}\r\n\r\nhello`)
  await expect.poll(() => [body.destroyed, pool.size.open]).toEqual([true, 0])
  await delay(50)
  expect(received()).toBe(`${HEAD}content-length: ${length}\r\n\r\nhello`)
})

test('a stream that fails: its error, and the upstream never gets the end of the body', async () => {
  await start(() => {})
  const body = new PassThrough()
  const answer = post(body)
  body.write('hello')
  await expect.poll(received).toContain('hello')
  const reason = new Error('client left')
  body.destroy(reason)
  expect((await answer.ended).error).toBe(reason)
  await expect.poll(() => server.sockets[0]?.destroyed).toBe(true)
  expect(received()).not.toContain('\r\n0\r\n')
})

test('a stream that broke off while the connection was made: nothing is begun', async () => {
  await start(() => {})
  const body = new PassThrough()
  const answer = post(body)
  const reason = new Error('client left')
  body.destroy(reason)
  expect((await answer.ended).calls).toEqual(['error unsent'])
  expect([answer.error, received()]).toEqual([reason, ''])
})

test('an answer that comes before the body was sent passes, and the connection closes', async () => {
  await start((socket) => socket.write(answerOf('too large')))
  const body = new PassThrough()
  const answer = post(body)
  body.write('hello')
  expect((await answer.ended).body.toString()).toBe('too large')
  expect(body.destroyed).toBe(true)
  await expect.poll(() => pool.size.open).toBe(0)
  expect(body.listenerCount('data')).toBe(0)
})

test('bytes that come before anything of the request was sent are no answer to it', async () => {
  await start(answerBehind('\r\n\r\n'))
  await send(pool).ended
  const answer = post(new PassThrough())
  await expect.poll(() => answer.calls).toEqual(['start'])
  server.sockets[0]?.write(answerOf('poison'))
  expect((await answer.ended).error).toMatchObject({ code: 'malformed_answer' })
  expect([answer.body.length, pool.size.open]).toEqual([0, 0])
})

test('an upstream that takes nothing makes the stream wait', async () => {
  await start((socket) => {
    socket.pause()
  })
  let bytes = 0
  const body = new Readable({
    read() {
      bytes += 64 * 1024
      this.push(Buffer.alloc(64 * 1024))
    },
  })
  const answer = post(body)
  const taken = async () => {
    const before = bytes
    await delay(100)
    return bytes === 0 ? Number.NaN : bytes - before
  }
  await expect.poll(taken).toBe(0)
  expect(bytes).toBeLessThan(64 * 1024 * 1024)
  answer.controller?.abort(new Error('enough'))
  expect(body.destroyed).toBe(true)
})

test.each([
  ['a head that is refused', ['host', 'upstream', 'x', 'a\r\nb: c']],
  ['no host', ['x', 'a']],
])('%s: nothing is written, and the body is given up', async (_what, headers) => {
  await start(() => {})
  const body = new PassThrough()
  const { error, calls } = await send(pool, { method: 'POST', headers, body }).ended
  expect([error, calls]).toMatchObject([{ code: 'invalid_request' }, ['error unsent']])
  expect([body.destroyed, server.sockets.length]).toEqual([true, 0])
})

test('a body with a method that has none is sent, and its connection not used again', async () => {
  await start(answerBehind('hello'))
  await send(pool, { method: 'DELETE', body: Buffer.from('hello') }).ended
  expect(received()).toContain('content-length: 5\r\n\r\nhello')
  await expect.poll(() => pool.size.open).toBe(0)
})

test('a thousand requests leave no listener behind, of sockets and of bodies', async () => {
  await start((socket, text) => text.includes('0\r\n\r\n') && socket.write(answerOf('x')))
  const bodies: Readable[] = []
  for (let i = 0; i < 1_000; i++) {
    const body = Readable.from([Buffer.from('y')])
    bodies.push(body)
    expect((await post(body).ended).status).toBe(200)
  }
  expect(server.sockets).toHaveLength(1)
  for (const body of bodies) {
    expect(['data', 'end', 'close'].map((name) => body.listenerCount(name))).toEqual([0, 0, 0])
  }
})
