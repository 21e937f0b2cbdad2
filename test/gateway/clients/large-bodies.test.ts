import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { heldMemory } from '../../support/memory.ts'
import { rounds } from '../../support/rounds.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { dial, requestText } from '../raw-http.ts'

const MIB = 1024 * 1024
/** The pieces in the hands of client, gateway and upstream, all in this process: some 1 MiB, and room for a slow day. */
const FLAT_BYTES = 8 * MIB
/** Of a large form or answer. */
const MIBS = rounds({ short: 20, long: 100 })

let answer: (incoming: IncomingMessage, response: ServerResponse) => void
const server = createServer((incoming, response) => {
  // The gateway's own request for the models, in the background.
  if (incoming.url === '/v1/models') response.end('{"data":[]}')
  else answer(incoming, response)
})
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  stack = await startStack(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  client = await stack.addClient('heavy')
})

afterAll(async () => {
  await stack?.stop()
  server.closeAllConnections()
  server.close()
})

/** Takes what is held outside the JavaScript heap each time another 10 MiB have passed. */
class Watermark {
  readonly #before = heldMemory().arrayBuffers
  #passed = 0
  readonly held: number[] = []

  passed(bytes: number): void {
    const tens = Math.trunc(this.#passed / (10 * MIB))
    this.#passed += bytes
    if (Math.trunc(this.#passed / (10 * MIB)) > tens) this.held.push(heldMemory().arrayBuffers - this.#before)
  }
}

const FORM_START =
  '--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n' +
  '--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'

test.each([
  ['an upload', rounds({ short: 20, long: 300 }), '/v1/files', 'application/octet-stream', ''],
  ['a form', MIBS, '/v1/audio/transcriptions', 'multipart/form-data; boundary=x', FORM_START],
])(
  '%s of %i MB streams through with flat memory, untouched',
  async (_what, pieces, path, type, start) => {
    const before = (await stack.usage(client)).requests
    const piece = Buffer.alloc(MIB, 'upload ')
    const sent = createHash('sha256')
    const received = createHash('sha256')
    const watermark = new Watermark()
    answer = async (incoming, response) => {
      for await (const chunk of incoming) {
        received.update(chunk)
        watermark.passed(chunk.length)
      }
      response.end('done')
    }
    const headers = { authorization: `Bearer ${client.key}`, 'content-type': type }
    const upload = request(stack.url + path, { method: 'POST', headers })
    const answered = once(upload, 'response')
    upload.write(start)
    sent.update(start)
    for (let n = 0; n < pieces; n += 1) {
      // A buffer of its own: one that is sent again and again would be held only once.
      const own = Buffer.from(piece)
      sent.update(own)
      if (!upload.write(own)) await once(upload, 'drain')
    }
    upload.end()
    const [response] = await answered
    await once(response.resume(), 'end')
    expect(watermark.held).toHaveLength(pieces / 10)
    expect(Math.max(...watermark.held)).toBeLessThan(FLAT_BYTES)
    expect(received.digest('hex')).toBe(sent.digest('hex'))
    await stack.usageOf(client, before + 1)
  },
  120_000,
)

test.each([
  ['of announced length', { 'content-length': MIBS * MIB }, '/v1/files/x/content'],
  ['without a length', {}, '/v1/files/x/content'],
  ['on a metered path', { 'content-type': 'application/json' }, '/v1/chat/completions'],
])(
  `an answer of ${MIBS} MB %s passes with flat memory, untouched`,
  async (_what, headers, path) => {
    const before = (await stack.usage(client)).requests
    const piece = Buffer.alloc(MIB, '{"answer": ')
    const sent = createHash('sha256')
    const received = createHash('sha256')
    answer = async (incoming, response) => {
      incoming.resume()
      response.writeHead(200, headers)
      for (let n = 0; n < MIBS; n += 1) {
        const own = Buffer.from(piece)
        sent.update(own)
        if (!response.write(own)) await once(response, 'drain')
      }
      response.end()
    }
    const watermark = new Watermark()
    const metered = path.endsWith('completions')
    const response = await fetch(stack.url + path, {
      method: metered ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      ...(metered ? { body: '{"model":"gpt-4o-mini","messages":[]}' } : {}),
    })
    for await (const chunk of response.body ?? []) {
      received.update(chunk)
      watermark.passed(chunk.length)
    }
    expect(watermark.held).toHaveLength(MIBS / 10)
    expect(Math.max(...watermark.held)).toBeLessThan(FLAT_BYTES)
    expect(received.digest('hex')).toBe(sent.digest('hex'))
    await stack.usageOf(client, before + 1)
  },
  120_000,
)

test('a client that does not read holds its upstream back, not the memory', async () => {
  const piece = Buffer.from(`data: {"choices":[{"delta":{"content":"${'x'.repeat(100_000)}"}}]}\n\n`)
  let written = 0
  let stuck = false
  answer = async (incoming, response) => {
    incoming.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    while (written < 100 * MIB && !response.destroyed) {
      written += piece.length
      if (response.write(piece)) continue
      const drained = once(response, 'drain').then(
        () => false,
        () => false,
      )
      stuck = await Promise.race([drained, new Promise<boolean>((resolve) => setTimeout(resolve, 300, true))])
      if (stuck) break
    }
  }
  const body = '{"model":"gpt-4o-mini","stream":true,"messages":[]}'
  const socket = dial(stack.url)
  socket.pause()
  const before = (await stack.usage(client)).requests
  const headers = [
    `Authorization: Bearer ${client.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  socket.write(requestText('/v1/chat/completions', headers, 'POST', body))
  await expect.poll(() => stuck).toBe(true)
  expect(written).toBeLessThan(32 * MIB)
  socket.destroy()
  await stack.usageOf(client, before + 1)
  expect((await stack.calls(client)).at(-1)).toMatchObject({ outcome: 'client_aborted', status: 200 })
})
