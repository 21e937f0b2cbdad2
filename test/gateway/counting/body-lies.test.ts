import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { lenientChat, TRUE_INPUT, TRUE_OUTPUT } from '../lenient-upstream.ts'
import { exchange, parseResponse, requestText } from '../raw-http.ts'

let upstream: TestUpstream
let stack: TestStack
/** Where clients share their objects, a body that could name any goes on. */
let shared: TestStack
let folder: string
let number = 0

beforeAll(async () => {
  upstream = await startUpstream(lenientChat)
  folder = await mkdtemp(join(tmpdir(), 'tallygate-lies-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams: [{ name: o, url: '${upstream.url}', provider: openai, objects: shared }]\n`,
  )
  stack = await startStack(upstream.url)
  shared = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
})

afterAll(async () => {
  await Promise.all([stack?.stop(), shared?.stop()])
  await rm(folder, { recursive: true })
  await upstream?.close()
})

const PROMPT = 'The quick brown fox jumps over the lazy dog. '.repeat(800)
const MESSAGES = `"messages":[{"role":"user","content":"${PROMPT}"}]`
const TEXT = `{"model":"gpt-4o-mini","stream":true,${MESSAGES}}`
const PLAIN = Buffer.from(TEXT)
const JSON_TYPE = 'Content-Type: application/json'
/** 0.15 and 0.60 USD per million tokens. */
const TRUE_COST = TRUE_INPUT * 150_000 + TRUE_OUTPUT * 600_000

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

interface Row {
  readonly status: number
  readonly error: unknown
  readonly call: Record<string, unknown> | undefined
}

async function send(
  headers: readonly string[],
  body: Buffer,
  framing?: string,
  method = 'POST',
  through = stack,
): Promise<Row> {
  number += 1
  const client = await through.addClient(`liar ${number}`)
  const lines = [
    `Authorization: Bearer ${client.key}`,
    ...headers,
    framing ?? `Content-Length: ${body.length}`,
  ]
  const head = requestText('/v1/chat/completions', lines, method)
  const { bytes } = await exchange(through.url, Buffer.concat([Buffer.from(head, 'latin1'), body]))
  const answer = parseResponse(bytes.subarray(bytes.indexOf(CONTINUE) === 0 ? CONTINUE.length : 0))
  if (answer.status !== 200) {
    const error: unknown = JSON.parse(answer.body.toString())
    return { status: answer.status, error, call: undefined }
  }
  await through.usageOf(client, 1)
  const [call] = await through.calls(client)
  return { status: 200, error: null, call }
}

function chunked(body: Buffer, trailers = ''): Buffer {
  const size = body.length.toString(16)
  return Buffer.concat([Buffer.from(`${size}\r\n`), body, Buffer.from(`\r\n0\r\n${trailers}\r\n`)])
}

function utf32(text: string): Buffer {
  const bytes = Buffer.alloc(text.length * 4)
  for (const [at, character] of [...text].entries())
    bytes.writeUInt32LE(character.codePointAt(0) ?? 0, at * 4)
  return bytes
}

function utf16be(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}

function withMember(text: string): Buffer {
  return Buffer.from(`{${text},${TEXT.slice(1)}`)
}

type Lie = [
  name: string,
  headers: readonly string[],
  body: Buffer,
  framing?: string | undefined,
  method?: string,
]

test.each<Lie>([
  ['nothing (the truth)', [JSON_TYPE], PLAIN],
  ['content-type: multipart/x', ['Content-Type: multipart/x'], PLAIN],
  ['content-type: a form', ['Content-Type: multipart/form-data; boundary=x'], PLAIN],
  ['content-type: text/plain', ['Content-Type: text/plain'], PLAIN],
  ['content-type: a picture', ['Content-Type: image/png'], PLAIN],
  ['no content-type', [], PLAIN],
  ['an empty content-type', ['Content-Type:'], PLAIN],
  ['two content-types', ['Content-Type: multipart/x', JSON_TYPE], PLAIN],
  ['a content-type that Connection names', ['Content-Type: multipart/x', 'Connection: content-type'], PLAIN],
  ['content-encoding: Identity', [JSON_TYPE, 'Content-Encoding: Identity'], PLAIN],
  ['content-encoding: identity twice', [JSON_TYPE, 'Content-Encoding: IDENTITY, identity'], PLAIN],
  ['an empty content-encoding', [JSON_TYPE, 'Content-Encoding:'], PLAIN],
  ['gzip', [JSON_TYPE, 'Content-Encoding: gzip'], gzipSync(PLAIN)],
  ['gzip as a form', ['Content-Type: multipart/x', 'Content-Encoding: GZIP'], gzipSync(PLAIN)],
  ['x-gzip', [JSON_TYPE, 'Content-Encoding: x-gzip'], gzipSync(PLAIN)],
  ['deflate', [JSON_TYPE, 'Content-Encoding: deflate'], deflateSync(PLAIN)],
  ['brotli', [JSON_TYPE, 'Content-Encoding: br'], brotliCompressSync(PLAIN)],
  ['zstd', [JSON_TYPE, 'Content-Encoding: zstd'], zstdCompressSync(PLAIN)],
  ['gzip of gzip', [JSON_TYPE, 'Content-Encoding: gzip, gzip'], gzipSync(gzipSync(PLAIN))],
  [
    'gzip that Connection names',
    [JSON_TYPE, 'Content-Encoding: gzip', 'Connection: content-encoding'],
    gzipSync(PLAIN),
  ],
  [
    'two content-encodings',
    [JSON_TYPE, 'Content-Encoding: identity', 'Content-Encoding: gzip'],
    gzipSync(PLAIN),
  ],
  [
    'a content-encoding in the trailers',
    [JSON_TYPE],
    chunked(PLAIN, 'Content-Encoding: gzip\r\n'),
    'Transfer-Encoding: chunked',
  ],
  ['chunks without a length', [JSON_TYPE], chunked(PLAIN), 'Transfer-Encoding: chunked'],
  ['chunks called a form', ['Content-Type: multipart/x'], chunked(PLAIN), 'transfer-encoding: CHUNKED'],
  ['Expect', [JSON_TYPE, 'Expect: 100-continue'], PLAIN],
  ['PUT', ['Content-Type: multipart/x'], PLAIN, undefined, 'PUT'],
  ['GET with a body', [JSON_TYPE], PLAIN, undefined, 'GET'],
  ['a byte order mark', [JSON_TYPE], Buffer.from(`\ufeff${TEXT}`)],
  ['UTF-16, little end first', [JSON_TYPE], Buffer.from(TEXT, 'utf16le')],
  ['UTF-16, little end first, marked', [JSON_TYPE], Buffer.from(`\ufeff${TEXT}`, 'utf16le')],
  ['UTF-16, big end first', [JSON_TYPE], utf16be(TEXT)],
  [
    'UTF-16, big end first, marked, gzip',
    [JSON_TYPE, 'Content-Encoding: gzip'],
    gzipSync(utf16be(`\ufeff${TEXT}`)),
  ],
  ['NaN and a trailing comma', [JSON_TYPE], withMember('"x":[NaN,]')],
  ['a stream by escapes', [JSON_TYPE], Buffer.from(TEXT.replace('stream', 'str\\u0065am'))],
])('%s hides nothing: the call is counted to the token', async (_name, headers, body, framing, method) => {
  const { status, error, call } = await send(headers, body, framing, method)
  expect([status, error]).toEqual([200, null])
  expect(call).toMatchObject({
    requested_model: 'gpt-4o-mini',
    usage_source: 'reported',
    input_tokens: String(TRUE_INPUT),
    output_tokens: String(TRUE_OUTPUT),
    cost_pico: String(TRUE_COST),
  })
})

test.each<Lie>([
  ['"stream": 1', [JSON_TYPE], Buffer.from(TEXT.replace('true', '1'))],
  ['"stream": "true"', [JSON_TYPE], Buffer.from(TEXT.replace('true', '"true"'))],
  ['Stream', [JSON_TYPE], Buffer.from(TEXT.replace('"stream"', '"Stream"'))],
  ['stream twice', [JSON_TYPE], withMember('"stream":false')],
  [
    'stream_options twice',
    [JSON_TYPE],
    withMember('"stream_options":{"include_usage":true},"stream_options":null'),
  ],
  ['stream_options that are not an object', [JSON_TYPE], withMember('"stream_options":[]')],
  ['model twice and "stream": 1', [JSON_TYPE], Buffer.from(TEXT.replace('true', '1,"model":"gpt-4o-mini"'))],
])('%s hides nothing: the call is refused', async (_name, headers, body) => {
  const before = upstream.requests.length
  const { status, error } = await send(headers, body)
  expect([status, error]).toMatchObject([400, { error: { type: 'invalid_request_error' } }])
  expect(upstream.requests).toHaveLength(before)
})

test.each<Lie>([
  [
    'model twice and a trailing comma',
    [JSON_TYPE],
    Buffer.from(TEXT.replace(/\}$/, ',"model":"gpt-4o-mini",}')),
  ],
  [
    'an array of 500,100 numbers and a trailing comma',
    [JSON_TYPE],
    Buffer.from(TEXT.replace(/\}$/, `,"z":[0${',0'.repeat(500_100)}],}`)),
  ],
  ['a comment', [JSON_TYPE], Buffer.from(`/* */${TEXT}`)],
  ['a trailing comma', [JSON_TYPE], Buffer.from(TEXT.replace(/\}$/, ',}'))],
  ['junk behind it', [JSON_TYPE], Buffer.from(`${TEXT}junk`)],
  ['UTF-32', [JSON_TYPE], utf32(TEXT)],
])('%s hides nothing: the call is estimated, and never lower than one token in twenty', async (_name, headers, body) => {
  const { status, error, call } = await send(headers, body, undefined, 'POST', shared)
  expect([status, error]).toEqual([200, null])
  expect(call).toMatchObject({ usage_source: 'estimated' })
  expect(Number(call?.input_tokens)).toBeGreaterThan(TRUE_INPUT * 0.95)
  expect(Number(call?.input_tokens)).toBeLessThanOrEqual(
    Math.max(TRUE_INPUT * 1.05, Math.ceil(body.length / 4)),
  )
  expect(Math.abs(Number(call?.output_tokens) - TRUE_OUTPUT)).toBeLessThanOrEqual(1)
  expect(Number(call?.cost_pico)).toBeGreaterThan(TRUE_COST * 0.95)
})

test('UTF-32 is refused where it could name what another client made', async () => {
  expect((await send([JSON_TYPE], utf32(TEXT))).status).toBe(400)
})

const UNSUPPORTED = { error: { type: 'invalid_request_error', code: 'unsupported_encoding' } }

test.each<Lie>([
  ['content-encoding: x', [JSON_TYPE, 'Content-Encoding: x'], PLAIN],
  ['content-encoding: utf-8', [JSON_TYPE, 'Content-Encoding: utf-8'], PLAIN],
  ['content-encoding: gzip;q=1', [JSON_TYPE, 'Content-Encoding: gzip;q=1'], gzipSync(PLAIN)],
  ['identity and x', [JSON_TYPE, 'Content-Encoding: identity', 'Content-Encoding: x'], PLAIN],
  ['five codings', [JSON_TYPE, 'Content-Encoding: gzip,gzip,gzip,gzip,gzip'], gzipSync(PLAIN)],
  ['JSON called gzip', [JSON_TYPE, 'Content-Encoding: gzip'], PLAIN],
  ['JSON called deflate', [JSON_TYPE, 'Content-Encoding: deflate'], PLAIN],
  ['JSON called brotli', [JSON_TYPE, 'Content-Encoding: br'], PLAIN],
  ['gzip called zstd', [JSON_TYPE, 'Content-Encoding: zstd'], gzipSync(PLAIN)],
  ['gzip that was cut', [JSON_TYPE, 'Content-Encoding: gzip'], gzipSync(PLAIN).subarray(0, 200)],
  [
    'deflate with junk behind it',
    [JSON_TYPE, 'Content-Encoding: deflate'],
    Buffer.concat([deflateRawSync(PLAIN), PLAIN]),
  ],
  ['gzip that does not say so', [JSON_TYPE], gzipSync(PLAIN)],
  ['gzip of gzip that says gzip', [JSON_TYPE, 'Content-Encoding: gzip'], gzipSync(gzipSync(PLAIN))],
  ['a transfer coding', [JSON_TYPE], chunked(gzipSync(PLAIN)), 'Transfer-Encoding: gzip, chunked'],
  ['charset=utf-7', [`${JSON_TYPE}; charset=utf-7`], PLAIN],
])('%s is refused with 415, and nothing goes upstream', async (_name, headers, body, framing) => {
  upstream.requests.length = 0
  expect(await send(headers, body, framing)).toMatchObject({ status: 415, error: UNSUPPORTED })
  expect(upstream.requests).toEqual([])
})

test('a bomb is refused with 413, and nothing goes upstream', async () => {
  upstream.requests.length = 0
  const bomb = gzipSync(`{"model":"gpt-4o-mini","z":"${' '.repeat(4_000_000)}"}`)
  const headers = [JSON_TYPE, 'Content-Encoding: gzip']
  expect(await send(headers, bomb)).toMatchObject({ status: 413 })
  expect(upstream.requests).toEqual([])
})

test('a length of 0 beside chunks is refused', async () => {
  const { status } = await exchange(
    stack.url,
    requestText(
      '/v1/chat/completions',
      [JSON_TYPE, 'Content-Length: 0', 'Transfer-Encoding: chunked'],
      'POST',
      '0\r\n\r\n',
    ),
  )
  expect(status).toBe(400)
})

test('an error about a coding has Anthropic’s shape on Anthropic’s paths', async () => {
  const client = await stack.addClient('claude')
  const answer = await fetch(`${stack.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': client.key, 'content-encoding': 'x' },
    body: TEXT,
  })
  expect(await answer.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
})

test('a compressed body goes upstream as it came where nothing has to be asked for', async () => {
  upstream.requests.length = 0
  const body = gzipSync(TEXT.replace('true', 'false'))
  await send([JSON_TYPE, 'Content-Encoding: gzip'], body)
  expect(upstream.requests).toMatchObject([{ headers: { 'content-encoding': 'gzip' } }])
  expect(upstream.requests[0]?.body.equals(body)).toBe(true)
})

test('where usage has to be asked for it goes upstream plain, and does not say otherwise', async () => {
  upstream.requests.length = 0
  await send([JSON_TYPE, 'Content-Encoding: gzip'], gzipSync(PLAIN))
  const [request] = upstream.requests
  expect(request?.headers['content-encoding']).toBeUndefined()
  expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({
    stream_options: { include_usage: true },
  })
})
