import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { rounds } from '../../../test/support/rounds.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import type { AnswerController } from '../src/answer-handler.ts'
import { ConnectionPool } from '../src/connection-pool.ts'
import { send, type TakenAnswer } from './taken-answer.ts'
import { startUpstreamServer } from './upstream-server.ts'

const REQUESTS = rounds({ short: 1_000, long: 3_000 })
const AT_A_TIME = 40

const random = seededRandom(Number(process.env.FAULT_SEED ?? 1))
const pick = (below: number) => Math.floor(random() * below)

/** Answers a request with its own name, in one of many ways, some of them bad. */
async function answer(socket: Socket, name: string): Promise<void> {
  const body = `${name};`.repeat(1 + pick(pick(4) === 0 ? 20_000 : 20))
  const ways = [
    `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `HTTP/1.1 200 OK\r\n\r\n${body}`,
    // Another answer that was not asked for.
    `HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n${name.slice(0, 4)}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison`,
    'HTTP/1.1 200 OK\nContent-Length: 0\n\n',
  ]
  const way = pick(ways.length)
  const text = ways[way] ?? ''
  const end = pick(12)
  const cut = end === 0 ? pick(text.length) : text.length
  for (let at = 0; at < cut; ) {
    // What comes while a later request waits is its answer, in this protocol: so these come at once.
    const size = way === 6 ? text.length : 1 + pick(pick(3) === 0 ? 100 : 100_000)
    socket.write(text.slice(at, Math.min(cut, at + size)), 'latin1')
    at += size
    if (pick(3) === 0) await delay(pick(3))
  }
  if (end === 0 && pick(2) === 0) socket.resetAndDestroy()
  else if (end <= 1 || way === 4 || way === 5) socket.end()
}

/** Does something to an answer at a moment of its own. */
async function meddle(taken: TakenAnswer): Promise<void> {
  const { promise: begun, resolve } = Promise.withResolvers<AnswerController>()
  const moment = (['start', 'head', 'data', 'data', 'end'] as const)[pick(5)] ?? 'data'
  taken.on[moment] = resolve
  const controller = await Promise.race([begun, taken.ended.then(() => null)])
  if (controller === null) return
  if (pick(2) === 0) await delay(pick(4))
  if (pick(3) === 0) {
    controller.abort(new Error('given up'))
    return
  }
  for (let times = pick(4); times >= 0; times--) {
    controller.pause()
    const before = taken.calls.length
    if (pick(2) === 0) await delay(pick(4))
    // An error is heard of at any time.
    if (!taken.calls.includes('error')) expect(taken.calls).toHaveLength(before)
    controller.resume()
  }
}

test(`${REQUESTS} requests through aborts, pauses and bad servers: each ends once, with an answer of its own`, async () => {
  const names: string[] = []
  const partial = new Map<number, string>()
  const server = await startUpstreamServer((socket, text, connection) => {
    const all = (partial.get(connection) ?? '') + text
    const end = all.startsWith('POST') ? all.indexOf('\r\n0\r\n\r\n') : all.indexOf('\r\n\r\n')
    // Some answer before the body has come.
    if (end < 0 && pick(10) > 0) {
      partial.set(connection, all)
      return
    }
    partial.set(connection, '')
    const name = /^(?:GET|POST|HEAD) \/(\w+) /.exec(all)?.[1]
    if (name === undefined) return
    names.push(name)
    void answer(socket, name)
  })
  const pool = new ConnectionPool(server.origin, { connectMs: 5_000, headersMs: 2_000, bodyMs: 2_000 })
  const wrong: unknown[] = []
  let whole = 0
  let left = REQUESTS
  const client = async () => {
    while (left > 0) {
      left -= 1
      const name = `n${String(left).padStart(6, '0')}x`
      const method = ['GET', 'GET', 'POST', 'HEAD'][pick(4)] ?? 'GET'
      const body =
        method === 'POST' ? Readable.from([Buffer.from('a'.repeat(1 + pick(2_000))), Buffer.from('b')]) : null
      const taken = send(pool, { method, path: `/${name}`, body })
      const meddling = pick(2) === 0 ? meddle(taken) : null
      await taken.ended
      await meddling
      const ends = taken.calls.filter((call) => call === 'end' || call.startsWith('error'))
      const isOwn = taken.body.toString().replaceAll(`${name};`, '')
      if (ends.length !== 1 || taken.calls.at(-1) !== ends[0]) wrong.push([name, taken.calls])
      if (!`${name};`.startsWith(isOwn)) wrong.push([name, isOwn])
      if (ends[0] === 'end') whole += 1
      if (body !== null && !body.destroyed) wrong.push([name, 'body left open'])
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, client))
  expect(wrong).toEqual([])
  expect(new Set(names).size).toBe(names.length)
  expect(whole).toBeGreaterThan(REQUESTS / 3)
  // None is busy any more.
  await expect.poll(() => pool.size.open - pool.size.kept).toBe(0)
  await pool.destroy()
  expect([pool.size.open, pool.clock.isRunning]).toEqual([0, false])
  await server.close()
})
