import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { exchange, type RawResponse, requestText } from '../raw-http.ts'

let upstream: TestUpstream
let folder: string
let stack: TestStack
let published: TestStack
let acme: TestClient
let beta: TestClient
let number = 0

beforeAll(async () => {
  upstream = await startUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${upstream.url}', provider: openai, api_key_env: KEY }
  - { name: anthropic, url: '${upstream.url}/base', provider: anthropic, api_key_env: KEY, path_prefix: /claude }
  - { name: gemini, url: '${upstream.url}', provider: gemini, api_key_env: KEY, path_prefix: /google }
default_upstream: openai
`,
  )
  const env = { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, KEY: 'sk-operator', BASE_PATH: '/llm' }
  stack = await startStack('', { env })
  published = await startStack('', { env: { ...env, PUBLIC_URL: 'https://public.test/ai' }, workers: false })
})

afterAll(async () => {
  await published?.stop()
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  upstream.requests.length = 0
  number += 1
  acme = await stack.addClient(`acme ${number}`)
  beta = await stack.addClient(`beta ${number}`)
})

/** Below the gateway's base path, as a client that has only this key. */
async function ask(
  target: string,
  { client = acme, method = 'GET', headers = [] as readonly string[], body = '', url = stack.url } = {},
): Promise<RawResponse> {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`]
  const lines = [`Authorization: Bearer ${client.key}`, ...length, ...headers]
  return await exchange(url, requestText(`/llm${target}`, lines, method) + body)
}

function header({ lines }: RawResponse, name: string): string | undefined {
  return lines.find((line) => line.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2)
}

const ADDRESS_HEADERS = [
  'location',
  'content-location',
  'operation-location',
  'azure-asyncoperation',
  'x-goog-upload-url',
  'x-goog-upload-control-url',
]

test.each(ADDRESS_HEADERS)('%s of the upstream’s own leads back through the gateway', async (name) => {
  upstream.answer((_request, response) => {
    response.writeHead(201, { [name]: `${upstream.url}/v1/things/1?a=%20b#c` }).end('x')
  })
  expect(header(await ask('/v1/things'), name)).toBe('http://gateway.test/llm/v1/things/1?a=%20b#c')
  expect(header(await ask('/google/v1/things'), name)).toBe(
    'http://gateway.test/llm/google/v1/things/1?a=%20b#c',
  )
})

test('the scheme is the client’s, also behind a proxy that ends TLS', async () => {
  upstream.answer((_request, response) => {
    response.writeHead(302, { location: `${upstream.url.replace('http', 'HTTPS')}/v1/x` }).end()
  })
  const headers = ['X-Forwarded-Proto: https']
  expect(header(await ask('/v1/x', { headers }), 'location')).toBe('https://gateway.test/llm/v1/x')
})

test('PUBLIC_URL stands in the place of what the client wrote', async () => {
  upstream.answer((_request, response) => {
    response.writeHead(302, { location: `${upstream.url}/v1/x` }).end()
  })
  const client = await published.addClient('public')
  const answer = await ask('/google/v1/x', { client, url: published.url })
  expect(header(answer, 'location')).toBe('https://public.test/ai/google/v1/x')
})

test('addresses of others, and those that a call could not reach, stay', async () => {
  const { host, port } = new URL(upstream.url)
  const others = [
    '/v1/things/1',
    'things/1',
    '//elsewhere.test/x',
    'https://elsewhere.test/v1/x',
    `https://elsewhere.test/${upstream.url}/base/v1`,
    `http://${host}.elsewhere.test/base/v1`,
    `http://x@${host}/base/v1`,
    `http://127.0.0.1:${Number(port) + 1}/base/v1`,
    `${upstream.url}/v1/x`,
    `${upstream.url}/basement`,
    `ftp://${host}/base/v1`,
    '',
  ]
  for (const location of others) {
    upstream.answer((_request, response) => void response.writeHead(302, { location }).end())
    expect(header(await ask('/claude/v1/x'), 'location')).toBe(location)
  }
})

const BATCH = 'msgbatch_01HkcTjaV5uDC8jWR4ZsDV8d'

function batch(id = BATCH) {
  const results_url = `${upstream.url}/base/v1/messages/batches/${id}/results`
  return {
    id,
    type: 'message_batch',
    processing_status: 'ended',
    results_url,
    other_url: `${upstream.url}/base/x`,
  }
}

/** Anthropic, as far as batches go. */
function serveBatches(id = BATCH) {
  upstream.answer(({ url }, response) => {
    if (url.endsWith('/results')) {
      const message = { id: 'msg_1', model: 'claude-haiku-4-5', usage: { input_tokens: 7, output_tokens: 5 } }
      response.end(`${JSON.stringify({ custom_id: 'a', result: { type: 'succeeded', message } })}\n`)
    } else if (url.endsWith('/batches')) {
      json(response, 200, { data: [batch(id)], has_more: false, first_id: id, last_id: id })
    } else json(response, 200, batch(id))
  })
}

test('a batch’s results are read through the gateway where it says they are, and its key goes nowhere else', async () => {
  const id = `${BATCH}${number}`
  serveBatches(id)
  const found = await ask(`/claude/v1/messages/batches/${id}`)
  const { results_url: resultsUrl } = JSON.parse(found.body.toString())
  const results = await ask(new URL(resultsUrl).pathname.replace('/llm', ''))
  expect(JSON.parse(results.body.toString()).custom_id).toBe('a')
  expect(upstream.requests.map(({ url }) => url)).toEqual([
    `/base/v1/messages/batches/${id}`,
    `/base/v1/messages/batches/${id}/results`,
  ])
  for (const { rawHeaders } of upstream.requests) {
    expect(rawHeaders.join('\n')).not.toContain('tg_')
    expect(rawHeaders).toContain('sk-operator')
  }
  expect(await stack.usageOf(acme, 2)).toMatchObject({ input_tokens: 7, output_tokens: 5 })
})

test.each([
  ['POST', '/v1/messages/batches', '{"requests":[]}'],
  ['GET', '/v1/messages/batches/ID', ''],
  ['POST', '/v1/messages/batches/ID/cancel', ''],
])('%s %s tells where the gateway has the results, and nothing else of it changes', async (method, target, body) => {
  const id = `${BATCH}5${number}`
  const text = `{ "id":"${id}","\\u00e9":1.0e0 ,"é":"\\"results_url\\": \\"${upstream.url}/base/x\\"",\n "results_url" : "${upstream.url.replaceAll('/', '\\/')}/base/v1/messages/batches/1/results" }`
  upstream.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  })
  const answer = await ask(`/claude${target.replace('ID', id)}`, { method, body })
  expect(answer.body.toString()).toBe(
    text.replace(/"http:\\\/.*?"/, '"http://gateway.test/llm/claude/v1/messages/batches/1/results"'),
  )
  expect(header(answer, 'content-length')).toBe(String(answer.body.length))
  expect(upstream.requests.at(-1)?.headers['accept-encoding']).toBe('identity')
})

test('a list of batches does so too, and one that is compressed all the same', async () => {
  const id = `${BATCH}9${number}`
  upstream.answer((_request, response) => json(response, 200, batch(id)))
  await ask('/claude/v1/messages/batches', { method: 'POST', body: '{"requests":[]}' })
  for (const coding of [null, 'gzip']) {
    upstream.answer((_request, response) => {
      const page = Buffer.from(JSON.stringify({ data: [batch(id)], has_more: false }))
      if (coding !== null) response.setHeader('content-encoding', coding)
      response.end(coding === null ? page : gzipSync(page))
    })
    const { body } = await ask('/claude/v1/messages/batches')
    expect(JSON.parse(body.toString()).data).toEqual([
      { ...batch(id), results_url: `http://gateway.test/llm/claude/v1/messages/batches/${id}/results` },
    ])
  }
})

test('no other answer is rewritten: addresses in it stay byte for byte', async () => {
  const text = JSON.stringify({ results_url: `${upstream.url}/base/v1/x`, content: [] })
  upstream.answer((_request, response) => void response.end(text))
  for (const target of [
    '/claude/v1/messages',
    `/claude/v1/messages/batches/${BATCH}/results`,
    '/v1/files/x',
  ]) {
    const isPost = target.endsWith('messages')
    const { body } = await ask(target, isPost ? { method: 'POST', body: '{}' } : {})
    expect(body.toString()).toBe(text)
  }
})

/** Google's resumable upload: one call announces the file and learns where its bytes go, another sends them. */
function serveUploads(id: string, file: string) {
  upstream.answer(({ url, headers }, response) => {
    if (headers['x-goog-upload-command'] === 'start') {
      const address = `${upstream.url}/upload/v1beta/files?upload_id=${id}&upload_protocol=resumable`
      response.writeHead(200, { 'x-goog-upload-url': address, 'content-length': 0 }).end()
    } else if (url.startsWith('/upload/')) {
      response.setHeader('x-goog-upload-status', 'final')
      json(response, 200, {
        file: { name: file, uri: `${upstream.url}/v1beta/files/x` },
      })
    } else json(response, 200, { name: file })
  })
}

const START = ['X-Goog-Upload-Protocol: resumable', 'X-Goog-Upload-Command: start']
const FINALIZE = ['X-Goog-Upload-Command: upload, finalize', 'X-Goog-Upload-Offset: 0']

test('an upload that the gateway began goes on through it, is its client’s alone, and leaves a file of that client', async () => {
  const id = `AbC-upload-${number}-${'x'.repeat(300)}`
  const file = `files/abc${number}`
  serveUploads(id, file)
  const begun = await ask('/google/upload/v1beta/files', {
    method: 'POST',
    headers: START,
    body: '{"file":{}}',
  })
  const address = header(begun, 'x-goog-upload-url') ?? ''
  expect(address.startsWith('http://gateway.test/llm/google/upload/v1beta/files?upload_id=AbC')).toBe(true)
  const target = address.replace('http://gateway.test/llm', '')

  const asked = upstream.requests.length
  for (const method of ['POST', 'PUT']) {
    const others = await ask(target, { client: beta, method, headers: FINALIZE, body: 'bytes' })
    expect([method, others.status]).toEqual([method, 404])
  }
  expect(upstream.requests).toHaveLength(asked)

  // Google's library for Python sends no credential, and the address admits it to nothing else.
  const bare = async (address: string) =>
    await exchange(
      stack.url,
      `${requestText(`/llm${address}`, [...FINALIZE, 'Content-Length: 5'], 'POST')}bytes`,
    )
  for (const other of [
    target.replace('AbC', 'AbD'),
    target.replace('/files', '/others'),
    target.replace('/google/', '/'),
    target.replace('_upload=', '_upload=A'),
    target.replace(/&tallygate_upload=.*/, ''),
    target.replace(/\/google[^?]*/, '/google/v1beta/models/gemini-2.5-pro:generateContent'),
  ]) {
    expect([other, (await bare(other)).status]).toEqual([other, 401])
  }
  expect(upstream.requests).toHaveLength(asked)
  expect((await bare(target)).status).toBe(200)
  expect(upstream.requests.at(-1)?.url).toBe(`/upload/v1beta/files?upload_id=${id}&upload_protocol=resumable`)
  expect(target).not.toContain(acme.key)

  const done = await ask(target, { method: 'POST', headers: FINALIZE, body: 'bytes' })
  expect([done.status, header(done, 'x-goog-upload-status')]).toEqual([200, 'final'])
  expect(upstream.requests.at(-1)?.body.toString()).toBe('bytes')
  expect(upstream.requests.at(-1)?.headers['x-goog-api-key']).toBe('sk-operator')
  // The address in the file is what prompts name it by: it stays.
  expect(JSON.parse(done.body.toString()).file.uri).toBe(`${upstream.url}/v1beta/files/x`)

  const named = `/google/v1beta/${file}`
  expect((await ask(named)).status).toBe(200)
  expect((await ask(named, { client: beta })).status).toBe(404)
  expect((await ask(named, { client: beta, method: 'DELETE' })).status).toBe(404)
})
