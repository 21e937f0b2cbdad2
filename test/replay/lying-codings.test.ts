import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { beforeEach, expect, test } from 'vitest'
import { startOwnStack } from '../support/servers/own-stack.ts'
import type { TestClient } from '../support/servers/stack.ts'
import { CHAT_USAGE, event } from '../support/upstream.ts'

let client: TestClient
let clients = 0

const { upstream, stack } = await startOwnStack()

beforeEach(async () => {
  clients += 1
  client = await stack.addClient(`client-${clients}`)
})

const EVENTS = [
  event({ model: 'gpt-4o-mini', choices: [{ index: 0, delta: { content: 'Hello' } }] }),
  event({ model: 'gpt-4o-mini', choices: [], usage: CHAT_USAGE }),
  'data: [DONE]\n\n',
]
const COMPLETION = JSON.stringify({
  object: 'chat.completion',
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: CHAT_USAGE,
})

/** One call that is answered with `body`; gives the bytes that the client got. */
async function ask(body: Buffer, coding: string | null, stream: boolean, asksUsage = true): Promise<Buffer> {
  upstream.answer((_request, response) => {
    response.writeHead(200, {
      'content-type': stream ? 'text/event-stream' : 'application/json',
      ...(coding === null ? {} : { 'content-encoding': coding }),
    })
    for (let at = 0; at < body.length; at += 40) response.write(body.subarray(at, at + 40))
    response.end()
  })
  // A client that decodes nothing. fetch would fail on a body that is not in the coding it claims.
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const sent = request(
    `${stack.url}/v1/chat/completions`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    },
    (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve(Buffer.concat(chunks)))
    },
  )
  sent.on('error', reject)
  const options = stream ? { stream, ...(asksUsage ? { stream_options: { include_usage: true } } : {}) } : {}
  sent.end(JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }], ...options }))
  return await promise
}

/** A gzip stream that goes on as nothing that could be read. */
function broken(text: string): Buffer {
  return Buffer.concat([gzipSync(text, { finishFlush: constants.Z_SYNC_FLUSH }), Buffer.alloc(200, 0xff)])
}

function framed(parts: readonly string[], encode: (part: string) => Buffer): Buffer {
  return Buffer.concat(parts.map(encode))
}

test.each([
  ['zstd, a frame for each event', framed(EVENTS, zstdCompressSync), 'zstd', true],
  [
    'zstd, two frames',
    framed([COMPLETION.slice(0, 30), COMPLETION.slice(30)], zstdCompressSync),
    'zstd',
    false,
  ],
  ['text that is said to be gzip', Buffer.from(EVENTS.join('')), 'gzip', true],
  ['text that is said to be gzip', Buffer.from(COMPLETION), 'gzip', false],
  ['text that is said to be brotli', Buffer.from(COMPLETION), 'br', false],
  ['gzip that is not said to be', gzipSync(EVENTS.join('')), null, true],
  ['gzip that is not said to be', gzipSync(COMPLETION), null, false],
  [
    'zstd with something else behind it',
    Buffer.concat([zstdCompressSync(EVENTS.join('')), Buffer.alloc(200, 0x41)]),
    'zstd',
    true,
  ],
  [
    'gzip that breaks behind the usage',
    broken(`${EVENTS.join('')}: ${randomBytes(300).toString('base64')}`),
    'gzip',
    true,
  ],
  ['zstd that is not said to be', framed(EVENTS, zstdCompressSync), null, true],
])('%s: the bytes pass, and the counts are the reported ones', async (_, body, coding, stream) => {
  expect((await ask(body, coding, stream)).equals(body)).toBe(true)
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([
    { usage_source: 'reported', input_tokens: '11', output_tokens: '7', unpriced_reason: null },
  ])
})

test('a stream that its upstream compresses without being asked, or saying so, passes as it is, and is counted', async () => {
  const body = gzipSync(EVENTS.join(''))
  for (const coding of ['gzip', null]) {
    expect((await ask(body, coding, true, false)).equals(body)).toBe(true)
  }
  expect(upstream.requests.at(-1)?.headers['accept-encoding']).toBe('identity')
  expect(upstream.requests.at(-1)?.body.toString()).toContain('"include_usage":true')
  await stack.usageOf(client, 2)
  for (const call of await stack.calls(client))
    expect(call).toMatchObject({ usage_source: 'reported', input_tokens: '11', output_tokens: '7' })
})

test.each([
  ['bytes that are not what they say', randomBytes(400).fill(0xff, 0, 2), 'gzip', false],
  [
    'a stream that breaks amid its coding',
    gzipSync(randomBytes(2_000)).fill(0xff, 1_000, 1_400),
    'gzip',
    true,
  ],
  ['an unknown coding', randomBytes(400).fill(0xff, 0, 2), 'snappy', false],
])('%s have no output and no cost, and say so', async (_, body, coding, stream) => {
  await ask(body, coding, stream)
  const summary = await stack.usageOf(client, 1)
  expect(summary).toMatchObject({ output_tokens: 0, cost_usd: 0 })
  expect(await stack.calls(client)).toMatchObject([
    { usage_source: 'estimated', output_tokens: null, cost_pico: null, unpriced_reason: 'no_figures' },
  ])
})
