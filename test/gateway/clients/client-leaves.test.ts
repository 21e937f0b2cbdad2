import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { busyness } from '../../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { CHAT_USAGE, event, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { dial, requestText } from '../raw-http.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let number = 0

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`leaver ${number}`)
})

async function start(mode: string): Promise<void> {
  await stack?.stop()
  await upstream?.close()
  upstream = await startUpstream()
  stack = await startStack(upstream.url, { env: { ON_CLIENT_ABORT: mode } })
}

const STREAMED = '{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"Say hello."}]}'

/** Sends the call; `answering` resolves to the upstream's side of it. */
function call(body = STREAMED) {
  const answering = new Promise<ServerResponse>((resolve) =>
    upstream.answer((_request, response) => resolve(response)),
  )
  const socket = dial(stack.url)
  const headers = [
    `Authorization: Bearer ${client.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  socket.write(requestText('/v1/chat/completions', headers, 'POST', body))
  return { socket, answering }
}

function delta(content: string): string {
  return event({ choices: [{ index: 0, delta: { content } }] })
}

async function record(): Promise<Record<string, unknown> | undefined> {
  await stack.usageOf(client, 1)
  const calls = await stack.calls(client)
  expect(calls).toHaveLength(1)
  return calls[0]
}

describe('cancel', () => {
  beforeAll(() => start('cancel'))

  test('a client gone before the headers: the upstream sees it within 200 ms; input estimated, output 0', async () => {
    const { socket, answering } = call()
    const response = await answering
    const closed = once(response, 'close')
    const leftAt = performance.now()
    socket.destroy()
    await closed
    expect(performance.now() - leftAt).toBeLessThan(200 * busyness())
    expect(await record()).toMatchObject({
      outcome: 'client_aborted',
      status: null,
      usage_source: 'estimated',
      input_tokens: expect.stringMatching(/^[1-9][0-9]?$/),
      output_tokens: '0',
    })
    expect(await stack.usage(client)).toMatchObject({ avg_latency_ms: 0 })
  })

  test('a client gone in mid-stream: the upstream sees it within 200 ms; what was delivered is estimated', async () => {
    const { socket, answering } = call()
    const response = await answering
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const word of ['One', ' two', ' three', ' four']) response.write(delta(word))
    let seen = ''
    for await (const chunk of socket) {
      seen += chunk
      if (seen.includes('four')) break
    }
    const closed = once(response, 'close')
    const leftAt = performance.now()
    socket.destroy()
    await closed
    expect(performance.now() - leftAt).toBeLessThan(200 * busyness())
    expect(await record()).toMatchObject({
      outcome: 'client_aborted',
      status: 200,
      usage_source: 'estimated',
      output_tokens: '4',
    })
  })

  test('a client gone with the upload half done: the upstream sees it, one record', async () => {
    const socket = dial(stack.url)
    const headers = [`Authorization: Bearer ${client.key}`, 'Content-Length: 1000000']
    const arrived = once(upstream.server, 'request')
    socket.write(requestText('/v1/files', headers, 'POST', 'x'.repeat(1_000)))
    const [request] = await arrived
    const closed = new Promise((resolve) => request.on('error', () => {}).on('close', resolve))
    socket.destroy()
    await closed
    expect(request.complete).toBe(false)
    expect(await record()).toMatchObject({ outcome: 'client_aborted', path: '/v1/files', input_tokens: null })
  })

  test('a client gone with its upload unfinished, and its answer begun: the answer is read to its end', async () => {
    upstream.answer(() => {})
    const socket = dial(stack.url)
    const arrived = once(upstream.server, 'request')
    const head = (name: string) => `--x\r\nContent-Disposition: form-data; name=${name}\r\n\r\n`
    const form = `${head('model')}gpt-4o-transcribe\r\n${head('stream')}true\r\n${head('file; filename=a.mp3')}sound`
    const headers = [
      `Authorization: Bearer ${client.key}`,
      'Content-Type: multipart/form-data; boundary=x',
      'Content-Length: 100000',
    ]
    socket.write(requestText('/v1/audio/transcriptions', headers, 'POST', form))
    const [, response] = await arrived
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event({ type: 'transcript.text.delta', delta: 'All of it' }))
    await once(socket, 'data')
    socket.destroy()
    // By then a gateway in this process has seen it.
    for (let turns = 0; turns < 60; turns += 1) await turn()
    const usage = { type: 'tokens', input_tokens: 9_000, output_tokens: 600, total_tokens: 9_600 }
    response.end(event({ type: 'transcript.text.done', text: 'All of it', usage }))
    expect(await record()).toMatchObject({
      outcome: 'client_aborted',
      usage_source: 'reported',
      input_tokens: '9000',
      output_tokens: '600',
    })
  })

  test('a client gone before its metered body was read: nothing went upstream, nothing is counted', async () => {
    const before = upstream.requests.length
    const socket = dial(stack.url)
    const headers = [
      `Authorization: Bearer ${client.key}`,
      'Content-Type: application/json',
      'Content-Length: 1000',
    ]
    socket.write(requestText('/v1/chat/completions', headers, 'POST', '{"model"'))
    socket.destroy()
    const { socket: second, answering } = call()
    ;(await answering).end('{}')
    await once(second.resume(), 'close')
    expect(await record()).toMatchObject({ outcome: 'complete' })
    expect(upstream.requests.length).toBe(before + 1)
  })

  test('a hundred clients gone at once: a hundred records', async () => {
    const responses: ServerResponse[] = []
    upstream.answer((_request, response) => {
      responses.push(response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(delta('Hello'))
    })
    const sockets = Array.from({ length: 100 }, () => {
      const socket = dial(stack.url)
      const headers = [
        `Authorization: Bearer ${client.key}`,
        'Content-Type: application/json',
        `Content-Length: ${STREAMED.length}`,
      ]
      socket.write(requestText('/v1/chat/completions', headers, 'POST', STREAMED))
      return socket
    })
    await expect.poll(() => responses.length).toBe(100)
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => responses.every(({ destroyed }) => destroyed)).toBe(true)
    await stack.usageOf(client, 100)
    const outcomes = (await stack.calls(client)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(Array(100).fill('client_aborted'))
  })
})

describe('drain', () => {
  beforeAll(() => start('drain'))

  test.each([
    'before the headers',
    'in mid-stream',
  ])('a client gone %s: the upstream is read to its end, and its own count stands', async (moment) => {
    const { socket, answering } = call()
    const response = await answering
    const head = () => response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (moment === 'in mid-stream') {
      head()
      response.write(delta('Hello'))
      await once(socket, 'data')
    }
    socket.destroy()
    await once(socket, 'close')
    if (!response.headersSent) head()
    // More than what fits into the buffers between: the gateway has to read.
    for (let n = 0; n < 40; n += 1) response.write(delta('x'.repeat(100_000)))
    response.write(event({ choices: [], usage: CHAT_USAGE }))
    response.end('data: [DONE]\n\n')
    await once(response, 'finish')
    expect(await record()).toMatchObject({
      outcome: 'client_aborted',
      status: 200,
      usage_source: 'reported',
      input_tokens: '11',
      output_tokens: '7',
    })
  })
})
