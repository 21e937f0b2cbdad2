import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream, type UpstreamHandler } from '../../support/upstream.ts'
import { dial, exchange, requestText } from '../raw-http.ts'

let folder: string
let openai: TestUpstream
let groq: TestUpstream
let stack: TestStack
let client: TestClient
let number = 0

/** As OpenAI and Groq answer: without the model's name. */
const transcript: UpstreamHandler = (_request, response) =>
  json(response, 200, { text: 'Four seconds.', usage: { type: 'duration', seconds: 4 } })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-forms-'))
  ;[openai, groq] = await Promise.all([startUpstream(transcript), startUpstream(transcript)])
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${openai.url}', provider: openai, models: ['gpt-*', 'whisper-1'] }
  - { name: groq, url: '${groq.url}/openai', provider: groq, models: ['whisper-large-*'] }
  - { name: alone, url: '${openai.url}', provider: openai, path_prefix: /alone }
default_upstream: openai
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
})

afterAll(async () => {
  await stack?.stop()
  await Promise.all([openai?.close(), groq?.close()])
  await rm(folder, { recursive: true })
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`forms ${number}`)
  for (const upstream of [openai, groq]) {
    upstream.requests.length = 0
    upstream.answer(transcript)
  }
})

const BOUNDARY = '----form7f3a'
const TYPE = `Content-Type: multipart/form-data; boundary=${BOUNDARY}`
const FILE = part('name="file"; filename="a.wav"', `RIFF${'\0'.repeat(200_000)}`)

function part(parameters: string, content: string): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; ${parameters}\r\n\r\n${content}\r\n`
}

function form(...parts: string[]): string {
  return `${parts.join('')}--${BOUNDARY}--\r\n`
}

function model(name: string): string {
  return part('name="model"', name)
}

async function send(body: string, path = '/v1/audio/transcriptions', key = client.key, type = TYPE) {
  const headers = [`Authorization: Bearer ${key}`, type, `Content-Length: ${body.length}`]
  const answer = await exchange(stack.url, requestText(path, headers, 'POST', body))
  const error: unknown = answer.status === 200 ? null : JSON.parse(answer.body.toString())
  return { status: answer.status, error }
}

const FOUR_SECONDS_OF_WHISPER_1 = `${(360_000_000_000n * 4n) / 3600n}`

test('a transcription has its model and its price, and the form goes upstream as it is', async () => {
  for (const path of ['/v1/audio/transcriptions', '/v1/audio/translations']) {
    const body = form(model('whisper-1'), part('name="language"', 'en'), FILE)
    expect(await send(body, path)).toEqual({ status: 200, error: null })
    expect(openai.requests.pop()?.body.equals(Buffer.from(body, 'latin1'))).toBe(true)
  }
  await stack.usageOf(client, 2)
  const priced = { requested_model: 'whisper-1', status: 200, cost_pico: FOUR_SECONDS_OF_WHISPER_1 }
  expect(await stack.calls(client)).toMatchObject([priced, priced])
})

test('an edit of an image has its model and its price', async () => {
  const usage = { input_tokens: 221, output_tokens: 415, total_tokens: 636 }
  openai.answer((_request, response) => json(response, 200, { data: [{ b64_json: 'AAAA' }], usage }))
  const picture = part('name="image[]"; filename="a.png"', 'PNG')
  expect(await send(form(model('gpt-image-1'), picture), '/v1/images/edits')).toMatchObject({ status: 200 })
  await stack.usageOf(client, 1)
  const [call] = await stack.calls(client)
  expect(call).toMatchObject({ requested_model: 'gpt-image-1', input_tokens: '221', output_tokens: '415' })
  expect(Number(call?.cost_pico)).toBeGreaterThan(0)
})

test('where no answer says how long the sound was, the file does, and the call is estimated', async () => {
  const seconds = 4
  const format = '\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0'
  const sound = `RIFF\0\0\0\0WAVEfmt \x10\0\0\0${format}data\0\0\0\0${'\0'.repeat(seconds * 32_000)}`
  const wav = part('name="file"; filename="a.wav"', sound)
  openai.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('Four seconds.')
  })
  await send(form(model('whisper-1'), part('name="response_format"', 'text'), wav))
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([
    { usage_source: 'estimated', audio_ms: '4000', cost_pico: FOUR_SECONDS_OF_WHISPER_1 },
  ])
})

const PCM = '\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0'
/** The same, with a rate of bytes that no decoder looks at. */
const LYING_PCM = '\x01\0\x01\0\x80\x3e\0\0\xff\xff\xff\x7f\x02\0\x10\0'

function wavOf(seconds: number, format = PCM): string {
  const size = seconds * 32_000
  const said = String.fromCharCode(size & 0xff, (size >> 8) & 0xff, (size >> 16) & 0xff, size >> 24)
  return `RIFF\0\0\0\0WAVEfmt \x10\0\0\0${format}data${said}${'\0'.repeat(size)}`
}

const file = (sound: string, name = 'file') => part(`name="${name}"; filename="a.wav"`, sound)

test.each([
  ['a file whose head has another rate of bytes', [file(wavOf(4, LYING_PCM))], 'Four seconds.'],
  ['a short file in front of the other', [file(wavOf(1), 'x'), file(wavOf(4))], 'Four seconds.'],
  ['a short file behind the other', [file(wavOf(4)), file(wavOf(1), 'x')], 'Four seconds.'],
  ['a file that says less than its words take to speak', [file(wavOf(1))], 'x'.repeat(4 * 64)],
])('%s is not cheaper', async (_, files, text) => {
  openai.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end(text)
  })
  const path = '/alone/v1/audio/transcriptions'
  await send(form(model('whisper-1'), part('name="response_format"', 'text'), ...files), path)
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([
    { usage_source: 'estimated', audio_ms: '4000', cost_pico: FOUR_SECONDS_OF_WHISPER_1 },
  ])
})

test('a form of more than 1,000 parts is refused where files behind them might be heard', async () => {
  for (const more of [997, 998]) {
    const parts = Array.from({ length: more }, () => part('name="x"', ''))
    const body = form(model('whisper-1'), file(wavOf(1)), ...parts, file(wavOf(4)))
    const { status } = await send(body, '/alone/v1/audio/transcriptions')
    expect([more, status]).toEqual([more, more === 997 ? 200 : 400])
  }
})

const WORDS = 'é'.repeat(2 * 64)

test.each([
  ['as they are', JSON.stringify({ text: WORDS, x_groq: { id: 'req_1' } })],
  ['as escapes', `{"text":"${'\\u00e9'.repeat(2 * 64)}","segments":[{"text":"${WORDS}"}]}`],
])('a file that says less than its words take to speak is not cheaper where JSON has them, %s', async (_, body) => {
  openai.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  await send(form(model('whisper-1'), file(wavOf(1))), '/alone/v1/audio/transcriptions')
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([
    { usage_source: 'estimated', audio_ms: '4000', cost_pico: FOUR_SECONDS_OF_WHISPER_1 },
  ])
})

test('the model in a form says where the call goes', async () => {
  await send(form(model('whisper-large-v3'), FILE))
  expect([openai.requests.length, groq.requests.length]).toEqual([0, 1])
  await send(form(model('whisper-1'), FILE))
  expect([openai.requests.length, groq.requests.length]).toEqual([1, 1])
})

test('a form whose file comes before the model is refused where the model says where it goes', async () => {
  expect(await send(form(FILE, model('whisper-large-v3')))).toEqual({
    status: 400,
    error: {
      error: {
        message: 'Send model before file: the call depends on it.',
        type: 'invalid_request_error',
        param: 'model',
        code: null,
      },
    },
  })
  expect(openai.requests).toEqual([])
})

test('a form whose file comes first has its model and price where nothing else depends on it', async () => {
  const body = form(FILE, model('whisper-1'))
  expect(await send(body, '/alone/v1/audio/transcriptions')).toEqual({ status: 200, error: null })
  expect(openai.requests.pop()?.body.equals(Buffer.from(body, 'latin1'))).toBe(true)
  await stack.usageOf(client, 1)
  const [call] = await stack.calls(client)
  expect(call).toMatchObject({ requested_model: 'whisper-1', cost_pico: FOUR_SECONDS_OF_WHISPER_1 })
})

test.each([
  ['twice before the file', form(model('whisper-1'), model('gpt-4o-transcribe'), FILE)],
  ['again behind the file', form(model('whisper-1'), FILE, model('gpt-4o-transcribe'))],
])('a call whose form names a model %s has no model and no price, never a cheap one', async (_what, body) => {
  expect(await send(body, '/alone/v1/audio/transcriptions')).toEqual({ status: 200, error: null })
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([{ requested_model: null, cost_pico: null }])
})

test('a form with a boundary that not all servers see is refused, and no server has it whole', async () => {
  const body = form(model('whisper-1'), FILE.replace('RIFF', `\n--${BOUNDARY}\r\n`))
  expect(await send(body, '/alone/v1/audio/transcriptions')).toMatchObject({ status: 400 })
  for (const { body: received } of openai.requests) expect(received).toHaveLength(0)
})

test('a key with a model list may send forms for its models, and no others', async () => {
  const { key } = await stack.addClient(`listed ${number}`, { models: ['whisper-1', 'gpt-4o*'] })
  for (const path of ['/v1/audio/transcriptions', '/alone/v1/audio/transcriptions']) {
    const status = async (body: string) => (await send(body, path, key)).status
    expect(await status(form(model('whisper-1'), FILE))).toBe(200)
    expect(openai.requests.splice(0)).toHaveLength(1)
    expect(await status(form(model('whisper-large-v3'), FILE))).toBe(403)
    expect(await status(form(part('name="language"', 'en')))).toBe(403)
    expect(await status(form(model('whisper-1'), model('whisper-2'), FILE))).toBe(403)
    expect(await status('{"model":"whisper-1"}')).toBe(403)
    expect(await status(form(FILE, model('whisper-1')))).toBe(400)
  }
  expect([...openai.requests, ...groq.requests]).toEqual([])
})

test('a form that is JSON, too, is refused where servers may find its boundary elsewhere', async () => {
  const body = `{"model":"whisper-1","x":"\r\n${form(model('whisper-2'), FILE)}"}`
  const twice = `${TYPE}; boundary=other`
  const { status, error } = await send(body, '/alone/v1/audio/transcriptions', client.key, twice)
  expect([status, error]).toMatchObject([415, { error: { code: 'unsupported_encoding' } }])
  expect(openai.requests).toEqual([])
})

test('the type by which a body was read is the only one that its server gets', async () => {
  const body = form(model('whisper-1'), FILE)
  const sent = await send(body, undefined, undefined, `${TYPE}\r\nContent-Type: application/json`)
  expect(sent).toEqual({ status: 200, error: null })
  const [request] = openai.requests
  expect(request?.rawHeaders.filter((name) => name.toLowerCase() === 'content-type')).toHaveLength(1)
  expect(`Content-Type: ${request?.headers['content-type']}`).toBe(TYPE)
})

test('an upload that names another model behind the file is cut before a server has it whole', async () => {
  const { key } = await stack.addClient(`smuggler ${number}`, { models: ['whisper-1'] })
  const body = form(model('whisper-1'), FILE, model('gpt-4o-transcribe'))
  expect(await send(body, '/alone/v1/audio/transcriptions', key)).toMatchObject({ status: 400 })
  for (const { body: received } of openai.requests) expect(received).toHaveLength(0)
})

test('a form goes on as it comes: the beginning is upstream before the client has sent the end', async () => {
  const received: number[] = []
  openai.server.once('request', (request) =>
    request.on('data', (chunk: Buffer) => received.push(chunk.length)),
  )
  const socket = dial(stack.url)
  const start = model('whisper-1') + FILE.slice(0, 100_000)
  const body = form(model('whisper-1'), FILE)
  const headers = [`Authorization: Bearer ${client.key}`, TYPE, `Content-Length: ${body.length}`]
  socket.write(Buffer.from(requestText('/v1/audio/transcriptions', headers, 'POST', start), 'latin1'))
  await expect.poll(() => received.reduce((sum, bytes) => sum + bytes, 0)).toBe(start.length)
  socket.end(Buffer.from(body.slice(start.length), 'latin1'))
  await stack.usageOf(client, 1)
  expect(openai.requests[0]?.body.equals(Buffer.from(body, 'latin1'))).toBe(true)
})

test('a client that leaves before the beginning was read has made no call', async () => {
  const socket = dial(stack.url)
  const headers = [`Authorization: Bearer ${client.key}`, TYPE, 'Content-Length: 100000']
  socket.write(requestText('/v1/audio/transcriptions', headers, 'POST', model('whisper-1')))
  socket.destroySoon()
  await send(form(model('whisper-1'), FILE))
  expect(await stack.usageOf(client, 1)).toMatchObject({ requests: 1 })
  expect(openai.requests).toHaveLength(1)
})

test.each([
  ['JSON where a form is expected', '/v1/audio/transcriptions', 'application/json'],
  ['JSON called a form without a boundary', '/v1/audio/transcriptions', 'multipart/form-data'],
  ['JSON called a form where no form is taken', '/v1/images/generations', `multipart/form-data; boundary=x`],
])('%s is read as JSON', async (_what, path, type) => {
  const answer = await fetch(`${stack.url}/alone${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': type },
    body: '{"model":"whisper-1"}',
  })
  expect(answer.status).toBe(200)
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([{ requested_model: 'whisper-1' }])
})

test('a compressed form is refused: no client sends one, and it could not be read as it passes', async () => {
  const body = gzipSync(form(model('whisper-1'), FILE))
  const answer = await fetch(`${stack.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${client.key}`,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-encoding': 'gzip',
    },
    body,
  })
  expect([answer.status, await answer.json()]).toMatchObject([
    415,
    { error: { code: 'unsupported_encoding' } },
  ])
  expect(openai.requests).toEqual([])
})
