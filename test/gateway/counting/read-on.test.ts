import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { beforeEach, expect, test } from 'vitest'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import type { TestClient } from '../../support/servers/stack.ts'
import { event } from '../../support/upstream.ts'
import { dial, requestText } from '../raw-http.ts'

let client: TestClient
let number = 0

const { upstream, stack } = await startOwnStack()

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`hidden ${number}`)
})

const SSE = { 'content-type': 'text/event-stream' }
const delta = (content: string, finish: string | null = null) =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })
const USAGE = {
  prompt_tokens: 1000,
  completion_tokens: 20_000,
  total_tokens: 21_000,
  completion_tokens_details: { reasoning_tokens: 19_900 },
}

function call(model: string, path = '/v1/chat/completions', more: object = {}) {
  const answering = new Promise<ServerResponse>((resolve) =>
    upstream.answer((_request, response) => resolve(response)),
  )
  const body = JSON.stringify({
    model,
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
    ...more,
  })
  const socket = dial(stack.url)
  const headers = [
    `Authorization: Bearer ${client.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  socket.write(requestText(path, headers, 'POST', body))
  return { socket, answering }
}

/** Reads until `text` has come, and hangs up. */
async function leaveAt(socket: Socket, text: string): Promise<void> {
  let seen = ''
  for await (const chunk of socket) {
    seen += chunk
    if (seen.includes(text)) break
  }
  socket.destroy()
}

async function record(): Promise<Record<string, unknown> | undefined> {
  await stack.usageOf(client, 1)
  const calls = await stack.calls(client)
  expect(calls).toHaveLength(1)
  return calls[0]
}

/** Sends a call and reads all of its answer. */
async function read(body: string): Promise<void> {
  const headers = { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', headers, body })
  await answer.text()
}

/** What the gateway's connections upstream have seen: it has noticed that the client left. */
async function unattended(): Promise<void> {
  await expect.poll(() => stack.gateway.unattendedCalls()).toBeGreaterThan(0)
}

test('a client that hangs up at the finish reason pays for the reasoning that the usage after it tells', async () => {
  const { socket, answering } = call('gpt-4o-mini')
  const response = await answering
  response.writeHead(200, SSE)
  for (const piece of ['a', 'b', 'c']) response.write(delta(piece))
  response.write(delta('', 'stop'))
  await leaveAt(socket, '"finish_reason":"stop"')
  await unattended()
  response.write(event({ choices: [], usage: USAGE }))
  response.end('data: [DONE]\n\n')
  expect(await record()).toMatchObject({
    outcome: 'client_aborted',
    usage_source: 'reported',
    input_tokens: '1000',
    output_tokens: '20000',
    cost_pico: '12150000000',
  })
})

test('a model that may reason unseen is read to its end although its client left amid the text', async () => {
  const { socket, answering } = call('o3')
  const response = await answering
  response.writeHead(200, SSE)
  response.write(delta('The answer is 42. END'))
  await leaveAt(socket, 'END')
  await unattended()
  response.write(delta('', 'stop'))
  response.write(event({ choices: [], usage: USAGE }))
  response.end()
  expect(await record()).toMatchObject({ usage_source: 'reported', output_tokens: '20000' })
})

test('a model that may reason unseen is read to its end although its client left before the answer began', async () => {
  const { socket, answering } = call('gpt-5-mini')
  const response = await answering
  socket.destroy()
  await unattended()
  response.writeHead(200, SSE)
  response.write(event({ choices: [], usage: USAGE }))
  response.end()
  expect(await record()).toMatchObject({
    outcome: 'client_aborted',
    status: 200,
    usage_source: 'reported',
    output_tokens: '20000',
  })
})

test('a deployment whose name says nothing counts by the model that its answer names', async () => {
  const { socket, answering } = call('gpt-4o', '/v1/chat/completions')
  const response = await answering
  response.writeHead(200, SSE)
  response.write(delta('hello').replace('gpt-4o-mini', 'gpt-5.1-2025-11-13'))
  await leaveAt(socket, 'hello')
  await unattended()
  response.end(event({ choices: [], usage: USAGE }))
  expect(await record()).toMatchObject({ usage_source: 'reported', output_tokens: '20000' })
})

test('hidden reasoning is billed where the upstream does not report its usage, though it is asked to', async () => {
  const options = '"stream_options":{"include_usage":false}'
  const body = `{"model":"o3","stream":true,${options},"messages":[{"role":"user","content":"hi"}]}`
  upstream.answer((_request, response) => {
    response.writeHead(200, SSE)
    response.write(delta('hello').replace('gpt-4o-mini', 'o3'))
    setTimeout(() => response.end(delta('', 'stop')), 500)
  })
  await read(body)
  const call = await record()
  expect(call).toMatchObject({ usage_source: 'estimated', outcome: 'complete' })
  expect(Number(call?.output_tokens)).toBeGreaterThanOrEqual(99)
})

test('an error at the end of a stream does not make free what came before it', async () => {
  upstream.answer((_request, response) => {
    response.writeHead(200, SSE)
    response.write(delta('one two three four five'))
    response.end(event({ error: { message: 'The server had an error.', type: 'server_error' } }))
  })
  await read('{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"hi"}]}')
  const call = await record()
  expect(call).toMatchObject({ usage_source: 'estimated', output_tokens: '5' })
  expect(Number(call?.cost_pico)).toBeGreaterThan(0)
})

test('the usage at the end of one long document counts although its client had all but that', async () => {
  const { socket, answering } = call('gpt-4o-mini', '/v1/chat/completions', { stream: false })
  const response = await answering
  const content = 'word '.repeat(30_000)
  const body = JSON.stringify({
    choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
    model: 'gpt-4o-mini',
    usage: USAGE,
  })
  const cut = body.indexOf('"usage"')
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.write(body.slice(0, cut))
  await leaveAt(socket, '"model":"gpt-4o-mini",')
  await unattended()
  response.end(body.slice(cut))
  expect(await record()).toMatchObject({ usage_source: 'reported', output_tokens: '20000' })
})

test('the end of an answer is seen in a compressed one too', async () => {
  const { socket, answering } = call('gpt-4o-mini')
  const response = await answering
  const body = gzipSync(
    delta('a') + delta('', 'stop') + event({ choices: [], usage: USAGE }).padEnd(50_000, '\n'),
  )
  response.writeHead(200, { ...SSE, 'content-encoding': 'gzip' })
  response.write(body.subarray(0, -4))
  await once(socket, 'data')
  socket.destroy()
  await unattended()
  response.end(body.subarray(-4))
  expect(await record()).toMatchObject({ usage_source: 'reported', output_tokens: '20000' })
})

test('a film whose client left before the answer is counted: it is made and billed all the same', async () => {
  const { socket, answering } = call('sora-2', '/v1/videos', { seconds: '8' })
  const answer = await answering
  socket.destroy()
  await unattended()
  const job = { id: 'video_1', model: 'sora-2', seconds: '8', size: '1280x720', status: 'queued' }
  answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(job))
  expect(await record()).toMatchObject({ outcome: 'client_aborted', video_ms: '8000', unpriced_reason: null })
})

test('a picture whose client left amid it is counted by the usage behind it', async () => {
  const { socket, answering } = call('gpt-image-1', '/v1/images/generations')
  const answer = await answering
  answer.writeHead(200, { 'content-type': 'application/json' })
  answer.write(`{"data":[{"b64_json":"${'A'.repeat(100_000)}`)
  await leaveAt(socket, 'b64_json')
  await unattended()
  const usage = { input_tokens: 10, output_tokens: 4_160, total_tokens: 4_170 }
  answer.end(`AAAA"}],"usage":${JSON.stringify(usage)}}`)
  expect(await record()).toMatchObject({ outcome: 'client_aborted', output_tokens: '4160', images: '1' })
})

test('speech whose client left amid it is stopped, and counted by its text', async () => {
  const { socket, answering } = call('tts-1', '/v1/audio/speech', { input: 'a'.repeat(500) })
  const answer = await answering
  const stopped = once(answer, 'close')
  answer.writeHead(200, { 'content-type': 'audio/mpeg' })
  answer.write('ID3 made')
  await leaveAt(socket, 'ID3')
  await stopped
  expect(await record()).toMatchObject({
    outcome: 'client_aborted',
    characters: '500',
    unpriced_reason: null,
  })
})
