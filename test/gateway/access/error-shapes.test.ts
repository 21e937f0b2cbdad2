import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'

let folder: string
let stack: TestStack
let narrow: TestClient
let wide: TestClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-shapes-'))
  const file = join(folder, 'tallygate.yaml')
  const names = ['openai', 'anthropic', 'gemini', 'bedrock', 'ollama', 'cohere', 'mistral', 'xai']
  const upstreams = names.map(
    (name, index) =>
      `  - { name: ${name}, url: 'http://127.0.0.1:1', provider: ${name}, models: false${index === 0 ? '' : `, path_prefix: /${name}`} }\n`,
  )
  await writeFile(file, `upstreams:\n${upstreams.join('')}`)
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  wide = await stack.addClient('wide')
  narrow = await stack.addClient('narrow', { models: ['gpt-4o-mini', 'o3*'] })
})

afterAll(async () => {
  await stack?.stop()
  await rm(folder, { recursive: true })
})

type Headers = Record<string, string>

async function post(path: string, headers: Headers, body: object = { model: 'some-model' }) {
  const answer = await fetch(stack.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: answer.status, headers: answer.headers, body: Object(await answer.json()) }
}

const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })
const TEXT = expect.stringMatching(/^[A-Z].*\.$/)
const GOOGLE_KEY = { 'x-goog-api-key': 'wrong' }
const VERSION = { 'anthropic-version': '2023-06-01' }

test.each([
  ['/v1/chat/completions', {}, { error: { message: TEXT, code: 'invalid_api_key', param: null } }],
  ['/v1/messages', {}, { type: 'error', error: { type: 'authentication_error', message: TEXT } }],
  ['/v1/files', VERSION, { type: 'error', error: { type: 'authentication_error', message: TEXT } }],
  ['/v1/x', GOOGLE_KEY, { error: { code: 401, message: TEXT, status: 'UNAUTHENTICATED' } }],
  ['/gemini/v1beta/models/m:generateContent', {}, { error: { code: 401, message: TEXT } }],
  ['/bedrock/model/m/converse', {}, { message: TEXT }],
  ['/model/m/invoke', {}, { message: TEXT }],
  ['/ollama/api/chat', {}, { error: TEXT }],
  ['/cohere/v2/chat', {}, { message: TEXT }],
] as const)('%s with a wrong key is refused as its library reads it, before anything is routed', async (path, headers: Headers, body) => {
  for (const key of [{}, bearer('tg_wrong')]) {
    const answer = await post(path, { ...headers, ...key })
    expect(answer).toMatchObject({ status: 401, body })
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
    expect(answer.headers.get('cache-control')).toBe('no-store')
  }
})

test.each([
  ['/v1/chat/completions', { error: { code: 'upstream_unreachable' } }],
  ['/anthropic/v1/messages', { type: 'error', error: { message: TEXT } }],
  ['/gemini/v1beta/models/m:generateContent', { error: { code: 502, status: 'UNAVAILABLE' } }],
  ['/gemini/v1beta/openai/chat/completions', { error: { code: 'upstream_unreachable' } }],
  ['/bedrock/model/m/converse', { message: TEXT }],
  ['/ollama/api/chat', { error: TEXT }],
  ['/ollama/v1/chat/completions', { error: { code: 'upstream_unreachable' } }],
  ['/cohere/v2/chat', { message: TEXT }],
  ['/mistral/v1/chat/completions', { object: 'error', message: TEXT }],
  ['/xai/v1/chat/completions', { error: TEXT, code: 'upstream_unreachable' }],
])('%s whose upstream is away is answered as its library reads it', async (path, body) => {
  const answer = await post(path, bearer(wide.key))
  expect(answer).toMatchObject({ status: 502, body })
  expect(answer.headers.get('x-amzn-errortype')).toBe(
    path.startsWith('/bedrock') ? 'ServiceUnavailableException' : null,
  )
})

test('a signature of AWS is answered with what to send', async () => {
  const authorization =
    'AWS4-HMAC-SHA256 Credential=AKIA/20261125/us-east-1/bedrock/aws4_request, Signature=x'
  const answer = await post('/bedrock/model/m/converse', { authorization })
  expect(answer).toMatchObject({
    status: 401,
    body: { message: expect.stringContaining('AWS_BEARER_TOKEN_BEDROCK') },
  })
  expect(answer.headers.get('x-amzn-errortype')).toBe('UnrecognizedClientException')
})

test.each([
  ['/v1/chat/completions', { model: 'gpt-4o' }, /may not use the model 'gpt-4o'.*: gpt-4o-mini, o3\*\./],
  ['/v1/chat/completions', {}, /names none.*: gpt-4o-mini, o3\*\./],
  ['/v1/batches', { input_file_id: 'f' }, /cannot be seen.*: gpt-4o-mini, o3\*\. Use one without/],
  ['/v1/chat/completions', { model: 'x'.repeat(5_000) }, /^.{0,300}$/],
])('a key with a list of models learns which of three things is wrong: %s %j', async (path, body, message) => {
  const answer = await post(path, bearer(narrow.key), body)
  expect(answer).toMatchObject({
    status: 403,
    body: { error: { code: 'model_not_allowed', message: expect.stringMatching(message) } },
  })
})

test('moderations of OpenAI pass without a model, those of others do not', async () => {
  expect((await post('/v1/moderations', bearer(narrow.key), { input: 'x' })).status).toBe(502)
  expect((await post('/mistral/v1/moderations', bearer(narrow.key), { input: 'x' })).status).toBe(403)
})

test('the gateway’s own operations are refused in OpenAI’s shape, whatever the path is like', async () => {
  const answer = await fetch(`${stack.url}/v1/usage?days=0`, { headers: bearer(wide.key) })
  expect([answer.status, answer.headers.get('cache-control'), await answer.json()]).toMatchObject([
    400,
    'no-store',
    { error: { param: 'days' } },
  ])
})
