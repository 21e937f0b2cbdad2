import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { exchange, requestText } from '../raw-http.ts'

let upstream: TestUpstream
let folder: string
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startUpstream((_request, response) => json(response, 200, {}))
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
  const file = join(folder, 'tallygate.yaml')
  const servers = [
    'gemini',
    'vertex',
    'openai-compatible',
    'litellm-proxy',
    'vllm',
    'openai',
    'perplexity',
    'llamacpp',
  ]
  const entries = servers.map(
    (name) => `  - { name: ${name}, url: ${upstream.url}, provider: ${name}, path_prefix: /${name} }`,
  )
  await writeFile(file, `upstreams:\n${entries.join('\n')}\n`)
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: file } })
  client = await stack.addClient('asking')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => {
  upstream.requests.length = 0
})

async function post(target: string, body = '{"contents":[]}', headers: readonly string[] = []) {
  const type = headers.some((line) => /^content-type:/i.test(line)) ? [] : ['Content-Type: application/json']
  const lines = [`Authorization: Bearer ${client.key}`, ...type, `Content-Length: ${body.length}`, ...headers]
  const answer = await exchange(stack.url, requestText(target, lines, 'POST') + body)
  return { status: answer.status, error: JSON.parse(answer.body.toString()).error ?? null }
}

/** What an error of Google's shape is about. */
function fieldOf(error: { readonly details?: readonly object[] }): unknown {
  const found = error.details?.find((detail) => 'fieldViolations' in detail)
  return Object(found).fieldViolations?.[0]?.field
}

const GENERATE = '/v1beta/models/gemini-2.5-pro:generateContent'
const GOOGLE = ['gemini', 'vertex', 'openai-compatible', 'litellm-proxy']

test.each([
  ['fields=candidates', 'fields'],
  ['$fields=candidates', '$fields'],
  ['%66ields=candidates', 'fields'],
  ['%24%66ields=candidates', '$fields'],
  ['%2566ields=candidates', 'fields'],
  ['Fields=candidates', 'fields'],
  ['a=b&fields=candidates', 'fields'],
  ['a=b;fields=candidates', 'fields'],
  ['+fields=candidates', 'fields'],
  ['fields', 'fields'],
  ['alt=proto', 'alt'],
  ['alt=json%2Bprotobuf', 'alt'],
  ['alt=json&alt=proto', 'alt'],
  ['$alt=proto', '$alt'],
  ['alt=', 'alt'],
  ['callback=cb', 'callback'],
  ['$callback=cb', '$callback'],
  ['$httpHeaders=X-Goog-FieldMask:candidates', '$httpheaders'],
  ['x-goog-user-project=other', 'x-goog-user-project'],
])("?%s would change the answer's form: 400, and nothing goes upstream", async (query, param) => {
  for (const name of GOOGLE) {
    const { status, error } = await post(`/${name}${GENERATE}?${query}`)
    expect([name, status, error]).toMatchObject([name, 400, { status: 'INVALID_ARGUMENT' }])
    expect(fieldOf(error)).toBe(param)
  }
  expect(upstream.requests).toEqual([])
})

test.each([
  '',
  '?',
  '?alt=sse',
  '?alt=json',
  '?$alt=json;enum-encoding=int',
  '?%24alt=json%3Benum-encoding%3Dint',
  '?key=x&prettyPrint=false',
  '?quotaUser=fields',
  '?pageToken=%66ields',
])('what Google’s libraries write passes as it is: %s', async (query) => {
  for (const name of GOOGLE) expect((await post(`/${name}${GENERATE}${query}`)).status).toBe(200)
  expect(upstream.requests.map(({ url }) => url)).toEqual(GOOGLE.map(() => `${GENERATE}${query}`))
})

test('a file is downloaded as media', async () => {
  const target = '/gemini/v1beta/files/abc:download?alt=media'
  const { status } = await exchange(stack.url, requestText(target, [`Authorization: Bearer ${client.key}`]))
  expect(status).toBe(200)
})

test('elsewhere such parameters are the upstream’s own business', async () => {
  for (const name of ['openai', 'vllm', 'openai-compatible']) {
    const body = '{"model":"m","messages":[]}'
    expect((await post(`/${name}/v1/chat/completions?fields=a&alt=b`, body)).status).toBe(200)
  }
})

test('headers that change the form stay behind, also where the others are repeated', async () => {
  const masks = ['X-Goog-FieldMask: candidates', 'x-goog-field-mask: candidates', 'X-Goog-User-Project: p']
  for (const accept of ['application/x-protobuf', 'application/json;q=0.1, application/json+protobuf']) {
    for (const name of GOOGLE) await post(`/${name}${GENERATE}`, '{}', [...masks, `Accept: ${accept}`])
  }
  expect(upstream.requests).toHaveLength(2 * GOOGLE.length)
  for (const { headers } of upstream.requests) {
    const names = Object.keys(headers)
    expect(names.filter((name) => name.startsWith('x-goog-f') || name.startsWith('x-goog-u'))).toEqual([])
    expect(headers.accept).toBeUndefined()
  }
})

test('other Accept headers pass', async () => {
  const accepts = ['application/json', '*/*', 'text/event-stream', 'audio/mpeg']
  for (const accept of accepts) await post(`/gemini${GENERATE}`, '{}', [`Accept: ${accept}`])
  expect(upstream.requests.map(({ headers }) => headers.accept)).toEqual(accepts)
})

test('a body of protocol buffers, which would be answered alike, is refused', async () => {
  const { status, error } = await post(`/gemini${GENERATE}`, 'x', ['Content-Type: application/x-protobuf'])
  expect([status, fieldOf(error)]).toEqual([400, 'content-type'])
})

const ASKED = ['vllm', 'openai-compatible', 'openai']
const GENERATES = '/inference/v1/generate'
const VLLM = ['/invocations', GENERATES]
const OWN_PATHS = new Map([
  ['vllm', VLLM],
  ['openai-compatible', VLLM],
])

test.each([
  ['"stream":"true"', 'stream'],
  ['"stream":1', 'stream'],
  ['"stream":"on"', 'stream'],
  ['"stream":[]', 'stream'],
  ['"stream":1.0', 'stream'],
  ['"stream":true,"stream":true', 'stream'],
  ['"Stream":true', 'stream'],
  ['"stream":true,"STREAM_OPTIONS":{}', 'stream'],
  ['"stream":true,"stream_options":{},"stream_options":{}', 'stream'],
  ['"stream":true,"stream_options":{"include_usage":0}', 'stream_options'],
  ['"stream":true,"stream_options":{"include_usage":"false"}', 'stream_options'],
  ['"stream":true,"stream_options":{"include_usage":true,"include_usage":false}', 'stream_options'],
  ['"stream":true,"stream_options":[]', 'stream_options'],
  ['"stream":true,"stream_options":"x"', 'stream_options'],
  ['"str\\u0065am":"true"', 'stream'],
])('%s, where usage has to be asked for: 400, and nothing goes upstream', async (members, param) => {
  for (const name of ASKED) {
    for (const path of ['/v1/chat/completions', '/v1/completions', ...(OWN_PATHS.get(name) ?? [])]) {
      const { status, error } = await post(`/${name}${path}`, `{"model":"m",${members}}`)
      expect([path, status]).toEqual([path, 400])
      // Cohere's libraries, to which its path belongs, read other errors.
      if (path !== GENERATES)
        expect([name, error]).toMatchObject([name, { type: 'invalid_request_error', param }])
    }
  }
  expect(upstream.requests).toEqual([])
})

test.each([
  '"a":1',
  '"stream":false',
  '"stream":null',
  '"stream":true',
  '"stream":null,"stream_options":null',
  '"stream":true,"stream_options":null',
  '"stream":true,"stream_options":{}',
  '"stream":true,"stream_options":{"include_usage":true}',
  '"stream":true,"stream_options":{"include_usage":false}',
  '"stream":true,"stream_options":{"include_usage":null}',
  '"stream":true,"stream_options":{"include_obfuscation":false}',
])('%s, as client libraries write it, passes', async (members) => {
  for (const name of ASKED) {
    for (const path of ['/v1/chat/completions', ...(OWN_PATHS.get(name) ?? [])])
      expect((await post(`/${name}${path}`, `{"model":"m",${members}}`)).status).toBe(200)
  }
  const asksForStream = members.includes('"stream":true')
  for (const { body } of upstream.requests) {
    expect(JSON.parse(body.toString()).stream_options?.include_usage === true).toBe(asksForStream)
  }
})

test.each([
  '"response_fields":["tokens"]',
  '"response\\u005ffields":["tokens"]',
  '"response_fields":null',
  '"a":1,"Response_Fields":[]',
])('%s, which takes the counts out of llama.cpp’s answers: 400, and nothing goes upstream', async (member) => {
  for (const path of ['/completion', '/completions', '/infill']) {
    const { status, error } = await post(`/llamacpp${path}`, `{"prompt":"x",${member}}`)
    expect([status, error]).toMatchObject([400, { param: 'response_fields' }])
  }
  expect(upstream.requests).toEqual([])
  expect((await post('/llamacpp/completion', '{"prompt":{"response_fields":1},"n_predict":1}')).status).toBe(
    200,
  )
})

test('where usage comes unasked, or on other paths, a stream may be written as it likes', async () => {
  expect((await post('/perplexity/chat/completions', '{"model":"m","stream":"true"}')).status).toBe(200)
  expect((await post('/openai/v1/responses', '{"model":"m","stream":"true"}')).status).toBe(200)
})

test('several models in one name are refused where a server would run each of them', async () => {
  const body = (model: string) => JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] })
  for (const server of ['litellm-proxy', 'openai-compatible']) {
    const { status, error } = await post(`/${server}/v1/chat/completions`, body('gpt-5,gpt-4o-mini'))
    expect([status, error.param]).toEqual([400, 'model'])
  }
  expect(upstream.requests).toEqual([])
  // OpenAI knows no such model, and says so itself.
  expect((await post('/openai/v1/chat/completions', body('gpt-5,gpt-4o-mini'))).status).toBe(200)
})
