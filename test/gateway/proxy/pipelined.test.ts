import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'
import { dial } from '../raw-http.ts'

const LATE_MS = 150
const HANDSHAKE = [
  'GET /gw/v1/realtime?model=gpt-4o HTTP/1.1',
  'Host: a',
  'Authorization: Bearer good',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  '\r\n',
].join('\r\n')

let doors: TwoDoors | null = null
let client: Socket | null = null

afterEach(async () => {
  client?.destroy()
  await doors?.close()
})

function post(path: string): string {
  const body = '{"model":"gpt-4o-mini"}'
  return `POST /gw${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

async function send(...requests: readonly string[]) {
  if (doors === null) throw new Error('no gateway')
  const connection = dial(doors.url)
  client = connection
  const got = { text: '', isClosed: false }
  connection.setEncoding('latin1').on('data', (data: string) => {
    got.text += data
  })
  connection.on('close', () => {
    got.isClosed = true
  })
  connection.write(requests.join(''))
  return got
}

test('a handshake that does not wait for the answer before it is the plain request it would be without its header', async () => {
  doors = await openTwoDoors()
  doors.upstream.answer(async ({ method }, response) => {
    if (method === 'POST') await delay(LATE_MS)
    response.writeHead(200, { 'content-length': 4 }).end(method === 'POST' ? 'post' : 'gets')
  })
  const got = await send(post('/v1/embeddings'), HANDSHAKE)
  await expect.poll(() => got.text.endsWith('gets')).toBe(true)
  expect(got.text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  expect(got.text.indexOf('post')).toBeLessThan(got.text.indexOf('gets'))
  expect(doors.upstream.requests.map(({ headers }) => headers.upgrade)).toEqual([undefined, undefined])
  expect(doors.reached.filter((place) => place === 'journal')).toHaveLength(2)
})

test('an answer that breaks off before its turn ends its connection, behind the answers before it', async () => {
  doors = await openTwoDoors()
  doors.upstream.answer(async ({ url }, response) => {
    if (url === '/v1/embeddings') {
      await delay(LATE_MS)
      response.writeHead(200, { 'content-length': 5 }).end('first')
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('part')
      setTimeout(() => response.destroy(), LATE_MS / 3)
    }
  })
  const got = await send(post('/v1/embeddings'), post('/v1/chat/completions'), post('/v1/embeddings'))
  await expect.poll(() => got.isClosed).toBe(true)
  expect(got.text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  expect(got.text.indexOf('first')).toBeLessThan(got.text.indexOf('part'))
  expect(got.text).not.toContain('\r\n0\r\n\r\n')
})
