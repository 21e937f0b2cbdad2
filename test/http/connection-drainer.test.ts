import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { openConnectionDrainer } from '../../src/http/connection-drainer.ts'
import { busyness } from '../support/patience.ts'

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' }).end('served')
})

afterEach(() => {
  agent.destroy()
  server.close()
})

async function get(): Promise<IncomingMessage> {
  const { port } = server.address() as AddressInfo
  const [response] = await once(request({ port, host: '127.0.0.1', agent }).end(), 'response')
  response.resume()
  await once(response, 'end')
  return response
}

/** A server whose answers begin at once and end after `ms`, and that would keep connections for long. */
async function startSlow(ms: number) {
  const slow = createServer((_request, response) => {
    response.write('begun ')
    setTimeout(() => response.end('and done'), ms)
  })
  slow.keepAliveTimeout = 60_000
  const drainer = openConnectionDrainer(slow)
  await once(slow.listen(0, '127.0.0.1'), 'listening')
  const { port } = slow.address() as AddressInfo
  return { slow, drainer, port }
}

test('a server that drains serves on, closes each connection with its answer, and is done once nothing comes', async () => {
  const drainer = openConnectionDrainer(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  expect((await get()).headers.connection).toBe('keep-alive')
  const left = drainer.begin()
  const last = await get()
  expect(last.statusCode).toBe(200)
  expect(last.headers.connection).toBe('close')
  expect((await get()).headers.connection).toBe('close')
  await left
})

test('neither clients that never stop nor connections that never carried a request hold it up for longer than 5 s', async () => {
  const drainer = openConnectionDrainer(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const silent = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(server, 'connection')
  const beganMs = performance.now()
  let left = false
  const draining = drainer.begin().then(() => {
    left = true
  })
  const silentClosed = once(silent.resume(), 'close')
  while (!left) {
    await get()
    await delay(5) // well within the time that counts as idle
  }
  await Promise.all([draining, silentClosed])
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(5_000)
})

test('a connection whose answer was under way when the drain began serves on after it, and is closed once it was idle', async () => {
  const { slow, drainer, port } = await startSlow(3_000)
  const ask = () => once(request({ port, host: '127.0.0.1', agent }).end(), 'response')
  const connections: Socket[] = []
  slow.on('connection', (socket) => connections.push(socket))
  const [answer] = await ask()
  expect(answer.headers.connection).toBe('keep-alive')
  await drainer.begin()
  const closed = once(slow.close(), 'close')
  answer.resume()
  await once(answer, 'end')
  await delay(1_500)
  const [another] = await ask()
  expect(another.headers.connection).toBe('close')
  expect(connections).toHaveLength(1)
  another.resume()
  await closed
})

test('a connection that rests after its answer is closed after 4 s, however long its client would keep it', async () => {
  const { slow, drainer, port } = await startSlow(2_000)
  const [answer] = await once(request({ port, host: '127.0.0.1', agent }).end(), 'response')
  expect(answer.headers.connection).toBe('keep-alive')
  await drainer.begin()
  const closed = once(slow.close(), 'close')
  answer.resume()
  await once(answer, 'end')
  const endedMs = performance.now()
  await closed
  expect(performance.now() - endedMs).toBeLessThan(20_000 * busyness())
})

test('a call that a client sent before it had the answer to the one before ends whole, however long it takes', async () => {
  let calls = 0
  const slow = createServer((_request, response) => {
    calls += 1
    if (calls === 1) response.end('the first')
    else setTimeout(() => response.end('the second'), 6_000)
  })
  const drainer = openConnectionDrainer(slow)
  await once(slow.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((slow.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(2))
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  await expect.poll(() => text).toContain('the first')
  await drainer.begin()
  slow.close()
  await once(socket, 'close')
  expect(text).toContain('the second')
})
