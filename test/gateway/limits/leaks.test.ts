import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { event } from '../../support/upstream.ts'
import { openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'
import { dial } from '../raw-http.ts'
import { limitsOf, MemoryLimiter, SPENT, TOO_MANY } from './memory-limiter.ts'

const CALLS = 120
const AT_ONCE = 10
const JOURNALS = ['works', 'works', 'works', 'late', 'fails'] as const
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

/** How the upstream of a call goes about it. */
const UPSTREAMS = {
  whole(response: ServerResponse) {
    const body = JSON.stringify({ id: 'x', model: 'gpt-4o', choices: [], usage: USAGE })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  },
  stream(response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event({ choices: [{ index: 0, delta: { content: 'Hello' } }] }))
    setTimeout(() => {
      response.end(`${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`)
    }, 5)
  },
  'cut stream'(response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event({ choices: [{ index: 0, delta: { content: 'Hello' } }] }))
    setTimeout(() => response.destroy(), 5)
  },
  error(response: ServerResponse) {
    response.writeHead(429, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
  },
  'no answer'(response: ServerResponse) {
    response.destroy()
  },
  late(response: ServerResponse) {
    setTimeout(() => UPSTREAMS.whole(response), 80)
  },
} as const
type UpstreamWay = keyof typeof UPSTREAMS
const UPSTREAM_WAYS = Object.keys(UPSTREAMS) as UpstreamWay[]

/** How the client of a call goes about it. */
const CLIENTS = ['reads all', 'reads all', 'leaves in its body', 'leaves at once', 'leaves soon'] as const
/** How a session comes to its end. */
const SESSIONS = ['client closes', 'client breaks off', 'upstream closes', 'refused', 'budget spent'] as const

async function call(doors: TwoDoors, way: UpstreamWay, client: string, random: () => number): Promise<void> {
  const body = `{"model":"gpt-4o","stream":${way.endsWith('stream')},"messages":[],"user":"${way}"}`
  const socket = dial(doors.url)
  socket.write(
    `POST /gw/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  if (client === 'leaves in its body') socket.write(body.slice(0, 10))
  else socket.write(body)
  if (client === 'leaves soon') setTimeout(() => socket.destroy(), random() * 40)
  else if (client !== 'reads all') setImmediate(() => socket.destroy())
  socket.resume()
  await once(socket, 'close')
}

async function session(doors: TwoDoors, way: (typeof SESSIONS)[number]): Promise<void> {
  const client = new WebSocket(
    `${doors.url.replace('http', 'ws')}/gw/v1/realtime?model=${encodeURIComponent(way)}`,
    {
      headers: { authorization: 'Bearer good' },
    },
  )
  client.on('error', () => {})
  const closed = new Promise((resolve) => client.on('close', resolve))
  client.on('message', () => {
    if (way === 'client closes') client.close(1000)
    else if (way === 'client breaks off') client.terminate()
  })
  await closed
}

test.each([1, 2])('however calls end, nothing stays reserved (seed %i)', async (seed) => {
  const random = seededRandom(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const limiter = new MemoryLimiter()
  limiter.spentModel = 'budget spent'
  const doors = await openTwoDoors(buildStages(), {}, limitsOf(limiter))
  const sockets = new WebSocketServer({ noServer: true })
  doors.upstream.answer(({ body }, response) => {
    const way = UPSTREAM_WAYS.find((name) => body.includes(`"user":"${name}"`))
    UPSTREAMS[way ?? 'error'](response)
  })
  doors.upstream.server.on('upgrade', (request, socket, head) => {
    const way = new URL(request.url ?? '', 'http://x').searchParams.get('model')
    if (way === 'refused') {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (upstream) => {
      const usage = { total_tokens: 3, input_tokens: 1, output_tokens: 2 }
      const response = { id: 'resp_1', status: 'completed', usage }
      upstream.send(JSON.stringify({ type: 'response.done', response }))
      if (way === 'upstream closes') upstream.close(1000)
    })
  })
  let made = 0
  async function worker(): Promise<void> {
    while (made < CALLS) {
      made += 1
      doors.journal = pick(JOURNALS)
      const chance = random()
      limiter.refusal = chance < 0.05 ? TOO_MANY : chance < 0.1 ? SPENT : null
      if (chance > 0.8) limiter.hold()
      else limiter.go()
      if (random() < 0.75) await call(doors, pick(UPSTREAM_WAYS), pick(CLIENTS), random)
      else await session(doors, pick(SESSIONS))
    }
  }
  const ticking = setInterval(() => limiter.go(), 20)
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  clearInterval(ticking)
  limiter.go()
  await doors.unattended.idle()
  await expect.poll(() => limiter.reserved).toBe(0)
  expect(limiter.reservedPico).toBe(0n)
  expect(limiter.waiting).toBe(0)
  expect(doors.failures).toEqual([])
  // The test would prove little if most of them had ended at the doors.
  expect(limiter.settled.length).toBeGreaterThan(CALLS / 4)
  expect(limiter.admitted.length).toBeGreaterThan(limiter.settled.length)
  await doors.close()
})
