import dns from 'node:dns'
import type { Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { busyness } from '../../../test/support/patience.ts'
import type { WaitingLimits } from '../src/connection.ts'
import { ConnectionPool } from '../src/connection-pool.ts'
import { send } from './taken-answer.ts'
import { answerOf, startUpstreamServer, type UpstreamServer } from './upstream-server.ts'

const LIMITS: WaitingLimits = { connectMs: 5_000, headersMs: 5_000, bodyMs: 5_000 }

const open: { pool: ConnectionPool; server: UpstreamServer }[] = []

async function start(
  onData: (socket: Socket, text: string, connection: number) => void,
  limits: Partial<WaitingLimits> = {},
) {
  const server = await startUpstreamServer(onData)
  const pool = new ConnectionPool(server.origin, { ...LIMITS, ...limits })
  open.push({ pool, server })
  return { pool, server }
}

afterEach(async () => {
  vi.useRealTimers()
  for (const { pool, server } of open.splice(0)) {
    await pool.destroy()
    expect(pool.size).toEqual({ open: 0, kept: 0 })
    expect(pool.clock.isRunning).toBe(false)
    await server.close()
  }
})

const echo = (socket: Socket, text: string) => socket.write(answerOf(text.split(' ')[1] ?? ''))

test('a request and its answer; the next one takes the same connection', async () => {
  const { pool, server } = await start(echo)
  for (const path of ['/a', '/b', '/c']) {
    const { status, body, calls } = await send(pool, { path }).ended
    expect([status, body.toString(), calls]).toEqual([200, path, ['start', 'head', 'data', 'end']])
  }
  expect(server.sockets).toHaveLength(1)
  expect(server.received[0]).toBe(
    ['/a', '/b', '/c']
      .map((path) => `GET ${path} HTTP/1.1\r\nhost: upstream\r\nconnection: keep-alive\r\n\r\n`)
      .join(''),
  )
})

test('a host of several addresses is reached at the one that accepts', async () => {
  const server = await startUpstreamServer(echo)
  const pool = new ConnectionPool(server.origin.replace('127.0.0.1', 'upstream.example'), LIMITS)
  open.push({ pool, server })
  const addresses = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ]
  const lookup = vi.spyOn(dns, 'lookup')
  lookup.mockImplementation(((
    _host: string,
    _options: object,
    done: (error: null, found: object[]) => void,
  ) => done(null, addresses)) as unknown as typeof dns.lookup)
  expect((await send(pool, { path: '/a' }).ended).body.toString()).toBe('/a')
  expect(lookup).toHaveBeenCalledOnce()
  lookup.mockRestore()
})

test('a long answer comes as it was sent, whatever else is read meanwhile', async () => {
  const pieces = Array.from({ length: 64 }, (_, i) => String.fromCharCode(32 + i).repeat(50_000))
  const { pool } = await start(async (socket, text) => {
    const mine = Number(text.split(' ')[1]?.slice(1))
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    for (const piece of pieces.slice(mine)) {
      socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`)
      await delay(1)
    }
    socket.write('0\r\n\r\n')
  })
  const answers = [0, 1, 2, 3].map((mine) => send(pool, { path: `/${mine}` }))
  for (const [mine, { ended }] of answers.entries()) {
    const { body } = await ended
    expect(body.equals(Buffer.from(pieces.slice(mine).join('')))).toBe(true)
  }
})

test('requests at a time have a connection each; of the free ones, the last used is taken', async () => {
  const { pool, server } = await start(echo)
  const answers = ['/a', '/b', '/c'].map((path) => send(pool, { path }))
  const ended: string[] = []
  for (const answer of answers) void answer.ended.then(({ body }) => ended.push(body.toString()))
  await Promise.all(answers.map(({ ended }) => ended))
  expect(server.sockets).toHaveLength(3)
  await send(pool, { path: '/d' }).ended
  const last = server.received.findIndex((text) => text.includes(`GET ${ended.at(-1)} `))
  expect(server.received.findIndex((text) => text.includes('GET /d '))).toBe(last)
  expect(pool.size).toEqual({ open: 3, kept: 3 })
})

test('with 2000 streams open, a request meets one connection and no more', async () => {
  const { pool, server } = await start((socket, text) => {
    if (text.includes('/stream')) socket.write('HTTP/1.1 200 OK\r\n\r\nfirst')
    else socket.write(answerOf('x'))
  })
  const heads: Promise<void>[] = []
  for (let i = 0; i < 2_000; i++) {
    const answer = send(pool, { path: '/stream' })
    heads.push(
      new Promise((resolve) => {
        answer.on.data = () => resolve()
      }),
    )
  }
  await Promise.all(heads)
  await send(pool).ended
  expect(server.sockets).toHaveLength(2_001)
  // Every connection that a request meets is asked this.
  const connections = server.sockets.length
  const { Connection } = await import('../src/connection.ts')
  const asked = vi.spyOn(Connection.prototype, 'isOpen', 'get')
  for (let i = 0; i < 10; i++) await send(pool).ended
  // Once when it is taken, once before it is written to; the clock's turn looks at the free one.
  expect(asked.mock.calls.length).toBeLessThan(40)
  asked.mockRestore()
  expect(server.sockets).toHaveLength(connections)
})

test('a kept connection that the server closed meanwhile is not used, and the request sent once', async () => {
  const { pool, server } = await start(echo)
  await send(pool, { path: '/a' }).ended
  server.sockets[0]?.end()
  await expect.poll(() => pool.size.kept).toBe(0)
  expect((await send(pool, { path: '/b' }).ended).body.toString()).toBe('/b')
  expect(server.received.map((text) => text.split(' ')[1])).toEqual(['/a', '/b'])
})

test('a kept connection that closes under a request: an error, and nothing is sent again', async () => {
  const { pool, server } = await start((socket, text) => {
    if (text.includes('/a')) socket.write(answerOf('a'))
    else socket.resetAndDestroy()
  })
  await send(pool, { path: '/a' }).ended
  const { error, calls } = await send(pool, { path: '/b', method: 'POST', body: Buffer.from('x') }).ended
  expect([error === null, calls]).toEqual([false, ['start', 'error']])
  expect((await send(pool, { path: '/c' }).ended).calls).toEqual(['start', 'error'])
  expect(server.received.map((text) => text.match(/\/[abc]/g))).toEqual([['/a', '/b'], ['/c']])
})

test('bytes on a kept connection that were not asked for are no answer to the next request', async () => {
  const { pool, server } = await start(echo)
  await send(pool, { path: '/a' }).ended
  server.sockets[0]?.write(answerOf('poison'))
  await expect.poll(() => pool.size.open).toBe(0)
  expect((await send(pool, { path: '/b' }).ended).body.toString()).toBe('/b')
})

test.each([
  ['', 4_000],
  ['Keep-Alive: timeout=3\r\n', 2_000],
  ['Keep-Alive: max=5, timeout=100\r\n', 99_000],
])('a connection is kept for as long as servers do: %j', async (hint, keptMs) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const { pool } = await start((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\n${hint}Content-Length: 0\r\n\r\n`),
  )
  await send(pool).ended
  vi.advanceTimersByTime(keptMs - 500)
  expect(pool.size).toEqual({ open: 1, kept: 1 })
  vi.advanceTimersByTime(750)
  expect(pool.size.kept).toBe(0)
  await expect.poll(() => pool.size.open).toBe(0)
})

test.each([
  'Connection: close\r\n',
  'Keep-Alive: timeout=1\r\n',
])('a connection that the server is about to close is not kept: %j', async (header) => {
  const { pool } = await start((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\n${header}Content-Length: 0\r\n\r\n`),
  )
  await send(pool).ended
  await expect.poll(() => pool.size.open).toBe(0)
})

test('an answer that lay unread keeps its connection for less: the server counts from when it sent it', async () => {
  const { pool } = await start((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\nContent-Length: 0\r\n\r\n')
    // The process is busy, as in a burst of calls.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500)
  })
  await send(pool).ended
  expect(pool.size.kept).toBe(0)
})

test('HEAD closes its connection: a server may send a body all the same', async () => {
  const { pool, server } = await start((socket) => socket.write(answerOf('12345')))
  const { status, body } = await send(pool, { method: 'HEAD' }).ended
  expect([status, body.length]).toEqual([200, 0])
  expect(server.received[0]).toContain('connection: close\r\n')
  await expect.poll(() => pool.size.open).toBe(0)
})

test.each<[string, Partial<WaitingLimits>, string, string]>([
  ['before its head', { headersMs: 500 }, '', 'headers_timeout'],
  ['within its head', { headersMs: 500 }, 'HTTP/1.1 200 OK\r\nA:', 'headers_timeout'],
  ['within its body', { bodyMs: 500 }, 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc', 'body_timeout'],
])('an upstream that is silent %s is given up in time', async (_where, limits, bytes, code) => {
  const { pool } = await start((socket) => socket.write(bytes), limits)
  const startedAt = performance.now()
  const { error } = await send(pool).ended
  expect(error).toMatchObject({ code })
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(495)
  expect(performance.now() - startedAt).toBeLessThan(2_000 * busyness())
})

test('an upload that the client interrupts is not the fault of the upstream', async () => {
  const { pool } = await start((socket, text) => text.includes('0\r\n\r\n') && socket.write(answerOf('x')), {
    headersMs: 400,
  })
  const body = new PassThrough()
  const answer = send(pool, { method: 'POST', body })
  body.write('a')
  await delay(1_500)
  body.end('b')
  expect((await answer.ended).status).toBe(200)
})

test('an upstream that takes nothing more of an upload is given up in time', async () => {
  const { pool } = await start((socket) => socket.pause(), { headersMs: 500 })
  const body = Readable.from(Array.from({ length: 1_000 }, () => Buffer.alloc(64 * 1024)))
  const { error } = await send(pool, { method: 'POST', body }).ended
  expect(error).toMatchObject({ code: 'headers_timeout' })
  expect(body.destroyed).toBe(true)
})

test('while an answer is paused nothing is passed on, and no limit runs', async () => {
  const { pool } = await start(
    (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello'),
    { bodyMs: 500 },
  )
  const answer = send(pool)
  const first = Promise.withResolvers<void>()
  answer.on.data = (controller) => {
    controller.pause()
    first.resolve()
  }
  await first.promise
  answer.on = {}
  open.at(-1)?.server.sockets[0]?.end('world')
  await delay(1_200)
  expect([answer.body.toString(), answer.calls]).toEqual(['hello', ['start', 'head', 'data']])
  answer.controller?.resume()
  expect((await answer.ended).body.toString()).toBe('helloworld')
})

test('an answer that is whole waits while it is paused, whatever becomes of the connection', async () => {
  const { pool, server } = await start((socket) => socket.write(answerOf('hello')))
  const answer = send(pool)
  const first = Promise.withResolvers<void>()
  answer.on.data = (controller) => {
    controller.pause()
    first.resolve()
  }
  await first.promise
  server.sockets[0]?.resetAndDestroy()
  await delay(100)
  expect(answer.calls).toEqual(['start', 'head', 'data'])
  answer.controller?.resume()
  expect((await answer.ended).calls).toEqual(['start', 'head', 'data', 'end'])
})

test.each([
  'start',
  'head',
  'data',
] as const)('an abort in %s: one error at once, no more is read', async (moment) => {
  const { pool, server } = await start(echo)
  const answer = send(pool, { path: '/a' })
  const reason = new Error('given up')
  answer.on[moment] = (controller) => {
    controller.abort(reason)
    expect(answer.error).toBe(reason)
    controller.abort(new Error('again'))
    controller.resume()
  }
  await answer.ended
  await delay(20)
  expect(answer.calls.filter((call) => call === 'error')).toEqual(['error'])
  expect(answer.calls.at(-1)).toBe('error')
  expect(answer.controller).toMatchObject({ aborted: true, reason })
  // Before anything was written, the connection is as good as before.
  expect([server.received.join(''), pool.size.open]).toEqual(
    moment === 'start' ? ['', 1] : [expect.stringContaining('GET /a '), 0],
  )
})

test.each([
  'start',
  'head',
  'data',
  'end',
] as const)('a handler that throws in %s hears of it once', async (moment) => {
  const { pool } = await start(echo)
  const answer = send(pool, { path: '/a' })
  answer.on[moment] = () => {
    throw new Error('thrown')
  }
  await answer.ended
  await delay(20)
  expect(answer.error?.message).toBe('thrown')
  expect(answer.calls.filter((call) => call === 'error')).toHaveLength(1)
})

test('the controller of an answer that has ended does nothing to the next one', async () => {
  const { pool, server } = await start((socket, text) =>
    text.includes('/a')
      ? socket.write(answerOf('a'))
      : socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nb'),
  )
  const before = await send(pool, { path: '/a' }).ended
  const answer = send(pool, { path: '/b' })
  await expect.poll(() => answer.body.length).toBe(1)
  before.controller?.pause()
  before.controller?.abort(new Error('late'))
  server.sockets[0]?.write('b')
  expect((await answer.ended).body.toString()).toBe('bb')
  expect([before.calls.at(-1), server.sockets.length]).toEqual(['end', 1])
})

test('where no server listens: the error of the socket, and nothing was begun', async () => {
  const { pool, server } = await start(echo)
  await server.close()
  const { error, calls } = await send(pool).ended
  expect([error, calls]).toMatchObject([{ code: 'ECONNREFUSED' }, ['error unsent']])
})

test('a pool that is retired takes requests for as long as anyone has it, and keeps no connection', async () => {
  const { pool, server } = await start(echo)
  await send(pool).ended
  expect(pool.size.kept).toBe(1)
  pool.retire()
  for (const path of ['/late', '/later']) {
    const { status, body } = await send(pool, { path }).ended
    expect([status, body.toString()]).toEqual([200, path])
  }
  await expect.poll(() => pool.size).toEqual({ open: 0, kept: 0 })
  expect(server.sockets).toHaveLength(3)
})

test('a pool that is destroyed fails what is under way', async () => {
  const { pool, server } = await start(() => {})
  const answers = [send(pool), send(pool, { path: '/b' })]
  await expect.poll(() => server.received.join('')).toContain('GET /b')
  await pool.destroy()
  for (const { error } of answers) expect(error).toMatchObject({ code: 'pool_closed' })
})
