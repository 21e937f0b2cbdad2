import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { ConnectionPool } from '../src/connection-pool.ts'
import { send, TakenAnswer } from './taken-answer.ts'
import { answerOf, startUpstreamServer, type UpstreamServer } from './upstream-server.ts'

// What one request leaves of its connection to the next.

const open: { pool: ConnectionPool; server: UpstreamServer }[] = []
afterEach(async () => {
  for (const { pool, server } of open.splice(0)) {
    await pool.destroy()
    await server.close()
  }
})

async function start(onData: (socket: Socket, text: string) => void) {
  const server = await startUpstreamServer(onData)
  const pool = new ConnectionPool(server.origin, { connectMs: 2_000, headersMs: 2_000, bodyMs: 2_000 })
  open.push({ pool, server })
  return { pool, server }
}

/** As `send`, with what is done at the start, which on a kept connection comes before `send` returns. */
function sendAnd(pool: ConnectionPool, onStart: NonNullable<TakenAnswer['on']['start']>): TakenAnswer {
  const answer = new TakenAnswer()
  answer.on.start = onStart
  pool.dispatch({ method: 'GET', path: '/', headers: ['host', 'upstream'], body: null }, answer)
  return answer
}

test('a request that begins paused hears nothing, also where the end of a resumed answer brought it', async () => {
  const { pool } = await start((socket) => socket.write(answerOf('abc')))
  const first = send(pool)
  first.on.head = (controller) => {
    controller.pause()
    setTimeout(() => controller.resume(), 20)
  }
  const { promise: next, resolve } = Promise.withResolvers<TakenAnswer>()
  first.on.end = () => resolve(sendAnd(pool, (controller) => controller.pause()))
  const second = await next
  await delay(100)
  expect(second.calls).toEqual(['start'])
  second.controller?.resume()
  expect((await second.ended).body.toString()).toBe('abc')
})

test('where connections are not kept, each request says so and has one of its own, so a late second answer is nobody’s', async () => {
  const server = await startUpstreamServer((socket) => {
    socket.write(answerOf('one'))
    setTimeout(() => socket.write(answerOf('late')), 20)
  })
  const limits = { connectMs: 2_000, headersMs: 2_000, bodyMs: 2_000 }
  const pool = new ConnectionPool(server.origin, limits, false)
  open.push({ pool, server })
  for (let count = 1; count <= 3; count += 1) {
    expect((await send(pool).ended).body.toString()).toBe('one')
    expect(server.received[count - 1]).toContain('\r\nconnection: close\r\n')
    await expect.poll(() => pool.size).toEqual({ open: 0, kept: 0 })
    await delay(30) // until the second answer was sent
  }
  expect(server.sockets.length).toBe(3)
})

test('the end of a connection that comes right behind an answer does not fail the next request', async () => {
  const { pool, server } = await start((socket) => socket.end(answerOf('abc')))
  const { promise: last, resolve } = Promise.withResolvers<TakenAnswer>()
  const answers: TakenAnswer[] = []
  const next = () => {
    const answer = send(pool)
    answers.push(answer)
    // In the turn in which the answer was read, and at the end of that turn, as calls are sent.
    if (answers.length === 40) resolve(answer)
    else if (answers.length % 2 === 0) answer.on.end = next
    else answer.on.end = () => setImmediate(next)
    void answer.ended.then(() => answer.error !== null && resolve(answer))
  }
  next()
  await (await last).ended
  expect(answers.map(({ calls }) => calls.at(-1))).toEqual(answers.map(() => 'end'))
  expect(server.sockets).toHaveLength(40)
})

test('requests that are given up before they are sent do not keep a connection for longer', async () => {
  const { pool } = await start((socket) =>
    socket.write('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\nContent-Length: 0\r\n\r\n'),
  )
  await send(pool).ended
  for (let times = 0; times < 3; times += 1) {
    await delay(100)
    const { calls } = sendAnd(pool, (controller) => controller.abort(new Error('given up')))
    expect(calls).toEqual(['start', 'error'])
  }
  // A second after the answer, which is one before the server closes it.
  await expect.poll(() => pool.size.kept).toBe(0)
})

test('a server that never comes to its answer ends as one that sends none', async () => {
  const { pool, server } = await start((socket) => {
    const flood = () => {
      while (socket.writable && socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(100)));
    }
    socket.on('drain', flood)
    flood()
  })
  const { error } = await send(pool).ended
  expect(error?.message).toBe('more than 1000 interim answers came before the answer')
  expect(server.received).toHaveLength(1)
})
