import { randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import { expect, test } from 'vitest'
import { startOwnStack } from '../support/servers/own-stack.ts'
import type { TestClient } from '../support/servers/stack.ts'
import { CHAT_USAGE, event, type UpstreamHandler } from '../support/upstream.ts'

const { upstream, stack } = await startOwnStack()

const CODINGS: readonly (readonly [coding: string, encode: (body: Buffer) => Buffer])[] = [
  ['gzip', (body) => gzipSync(body)],
  ['x-gzip', (body) => gzipSync(body)],
  ['br', (body) => brotliCompressSync(body)],
  ['zstd', (body) => zstdCompressSync(body)],
  ['deflate', (body) => deflateSync(body)],
  // Not what RFC 9110 means, but what some servers send.
  ['deflate', (body) => deflateRawSync(body)],
  ['gzip, br', (body) => brotliCompressSync(gzipSync(body))],
]

const COMPLETION = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt-4o-mini',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there.' }, finish_reason: 'stop' }],
    usage: CHAT_USAGE,
  }),
)

const STREAM = Buffer.from(
  [
    ...Array.from({ length: 200 }, (_, index) =>
      event({ choices: [{ index: 0, delta: { content: ` word ${index}` } }] }),
    ),
    event({ choices: [], usage: CHAT_USAGE }),
    'data: [DONE]\n\n',
  ].join(''),
)

interface Answer {
  readonly encoding: string | undefined
  readonly body: Buffer
}

/** A call that is answered as `handler` answers; `onBytes` hears how many bytes of the body there are so far. */
async function ask(
  client: TestClient,
  handler: UpstreamHandler,
  stream: boolean,
  onBytes: (bytes: number) => void = () => {},
): Promise<Answer> {
  upstream.answer(handler)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = httpRequest(
    `${stack.url}/v1/chat/completions`,
    {
      method: 'POST',
      headers: {
        authorization: `Bearer ${client.key}`,
        'content-type': 'application/json',
        'accept-encoding': 'gzip, br, zstd',
      },
    },
    (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        onBytes(bytes)
      })
      buffer(response).then(
        (body) => resolve({ encoding: response.headers['content-encoding'], body }),
        reject,
      )
    },
  )
  sent.on('error', reject)
  const options = stream ? { stream, stream_options: { include_usage: true } } : {}
  sent.end(JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }], ...options }))
  return await promise
}

for (const [index, [coding, encode]] of CODINGS.entries()) {
  test(`${coding} (${index}): whole and streamed, announced and not, the bytes pass and the counts are exact`, async () => {
    const client = await stack.addClient(`compressed-${index}`)
    const encodings = [
      { body: encode(COMPLETION), type: 'application/json', stream: false, announced: true },
      { body: encode(COMPLETION), type: 'application/json', stream: false, announced: false },
      { body: encode(STREAM), type: 'text/event-stream', stream: true, announced: false },
    ]
    for (const { body, type, stream, announced } of encodings) {
      const answer = await ask(
        client,
        async (_request, response) => {
          const length = announced ? { 'content-length': body.length } : {}
          response.writeHead(200, { 'content-type': type, 'content-encoding': coding, ...length })
          for (let at = 0; at < body.length; at += 50) {
            response.write(body.subarray(at, at + 50))
            await delay(0)
          }
          response.end()
        },
        stream,
      )
      expect(answer.encoding).toBe(coding)
      expect(answer.body.equals(body)).toBe(true)
    }
    await stack.usageOf(client, encodings.length)
    for (const call of await stack.calls(client))
      expect(call).toMatchObject({ usage_source: 'reported', input_tokens: '11', output_tokens: '7' })
  })
}

test('a compressed stream reaches the client event by event, and is counted to the place where it is cut', async () => {
  const client = await stack.addClient('compressed-cut')
  const sight = Promise.withResolvers<void>()
  // Two members, which is one body (RFC 1952, 2.2).
  const first = gzipSync(event({ choices: [{ index: 0, delta: { content: 'Hello' } }] }))
  const whole = await ask(
    client,
    async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
      response.write(first)
      // The answer goes on only once the client has what came of it.
      await sight.promise
      response.end(gzipSync(event({ choices: [], usage: CHAT_USAGE })))
    },
    true,
    (bytes) => {
      if (bytes >= first.length) sight.resolve()
    },
  )
  expect(whole.body.length).toBeGreaterThan(first.length)

  const sightOfCut = Promise.withResolvers<void>()
  const cut = flushed(
    event({ choices: [{ index: 0, delta: { content: 'Hello' } }] }) +
      event({ choices: [], usage: CHAT_USAGE }),
  )
  const broken = ask(
    client,
    async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
      response.write(cut)
      await sightOfCut.promise
      response.destroy()
    },
    true,
    (bytes) => {
      if (bytes >= cut.length) sightOfCut.resolve()
    },
  )
  await expect(broken).rejects.toThrow('aborted')

  await stack.usageOf(client, 2)
  expect(await stack.calls(client)).toMatchObject([
    { usage_source: 'reported', outcome: 'complete', output_tokens: '7' },
    { usage_source: 'reported', outcome: 'upstream_error', output_tokens: '7' },
  ])
})

/** The beginning of a gzip stream, as far as `text`, from which all of it can be read. */
function flushed(text: string): Buffer {
  return gzipSync(text, { finishFlush: constants.Z_SYNC_FLUSH })
}

test('a bomb, garbage and an unknown coding flow to the client as they are, and are flagged', async () => {
  const client = await stack.addClient('bombed')
  const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024, 0x20))
  // Bytes that no coding begins with; random ones are brotli at times.
  const garbage = randomBytes(20_000).fill(0xff, 0, 16)
  const bodies = [
    { body: bomb, coding: 'gzip' },
    { body: garbage, coding: 'gzip' },
    { body: garbage, coding: 'br' },
    { body: garbage, coding: 'zstd' },
    { body: garbage, coding: 'snappy' },
  ]
  for (const { body, coding } of bodies) {
    const answer = await ask(
      client,
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding })
        response.end(body)
      },
      false,
    )
    expect(answer.body.equals(body)).toBe(true)
  }
  await stack.usageOf(client, bodies.length)
  const calls = await stack.calls(client)
  expect(calls.map(({ usage_source }) => usage_source)).toEqual(bodies.map(() => 'estimated'))
  expect(calls.map(({ output_tokens }) => output_tokens)).toEqual(bodies.map(() => null))
})
