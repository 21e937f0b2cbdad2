import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

const NAMES = ['openai', 'claude', 'google', 'aws', 'llama', 'groq'] as const
type Name = (typeof NAMES)[number]

const SECRET = 'words that only one provider may see'
const ANTHROPIC = { 'anthropic-version': '2023-06-01' }

let folder: string
let upstreams: Record<Name, TestUpstream>
let stack: TestStack
let only: TestStack
let client: TestClient
let alone: TestClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-families-'))
  const started = await Promise.all(NAMES.map(async (name) => [name, await startUpstream()] as const))
  upstreams = Object.fromEntries(started) as Record<Name, TestUpstream>
  const entry = (name: Name, rest: string) =>
    `  - { name: ${name}, url: '${upstreams[name].url}', ${rest} }\n`
  const write = async (file: string, ...entries: readonly string[]) => {
    await writeFile(join(folder, file), `upstreams:\n${entries.join('')}`)
    return startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: join(folder, file) } })
  }
  const openai = entry('openai', "provider: openai, models: ['gpt-*', 'o3']")
  ;[stack, only] = await Promise.all([
    write(
      'all.yaml',
      openai,
      entry('claude', "provider: anthropic, models: ['claude-*']"),
      entry('google', "provider: gemini, models: ['gemini-*']"),
      entry('aws', "provider: bedrock, models: ['amazon.*', 'anthropic.*']"),
      entry('llama', "provider: ollama, models: ['llama*']"),
      entry('groq', "provider: groq, models: ['llama-3.1-*']"),
    ),
    write(
      'one.yaml',
      openai,
      entry('claude', 'provider: anthropic, path_prefix: /claude'),
      'default_upstream: openai\n',
    ),
  ])
  ;[client, alone] = await Promise.all([stack.addClient('all'), only.addClient('alone')])
})

afterAll(async () => {
  await Promise.all([stack?.stop(), only?.stop()])
  await Promise.all(Object.values(upstreams ?? {}).map((upstream) => upstream.close()))
  await rm(folder, { recursive: true })
})

beforeEach(() => {
  for (const { requests } of Object.values(upstreams)) requests.length = 0
})

interface Sent {
  readonly on?: TestStack
  readonly key?: string
  readonly body?: object | string | null
  readonly headers?: Record<string, string>
}

async function send(method: string, path: string, sent: Sent = {}) {
  const { on = stack, key = client.key, body = null, headers = {} } = sent
  const answer = await fetch(on.url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === null
        ? {}
        : { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' }),
      ...headers,
    },
    body: body === null ? null : typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: answer.status, body: Object(await answer.json()) }
}

/** Which upstreams were asked, and for what. */
function asked(): Record<string, string[]> {
  const found = Object.entries(upstreams).map(
    ([name, { requests }]) => [name, requests.map(({ url }) => url)] as const,
  )
  return Object.fromEntries(found.filter(([, urls]) => urls.length > 0))
}

test.each<readonly [Name, string, string, Sent]>([
  ['openai', 'POST', '/v1/files', { body: SECRET }],
  ['openai', 'GET', '/v1/batches', {}],
  ['openai', 'POST', '/v1/images/generations', { body: { prompt: SECRET } }],
  ['openai', 'GET', '/v1/unheard-of', {}],
  ['claude', 'POST', '/v1/files', { body: SECRET, headers: ANTHROPIC }],
  ['claude', 'GET', '/v1/files/f/content', { headers: ANTHROPIC }],
  ['claude', 'POST', '/v1/messages/batches', { body: { requests: [] } }],
  ['claude', 'GET', '/v1/messages/batches', {}],
  ['claude', 'GET', '/v1/messages/batches/b/results', {}],
  ['claude', 'POST', '/v1/messages/count_tokens', { body: { model: 'claude-haiku-4-5' } }],
  ['claude', 'POST', '/v1/chat/completions', { body: { model: 'claude-haiku-4-5' } }],
  ['google', 'POST', '/v1beta/models/gemini-2.5-flash:generateContent', { body: {} }],
  ['google', 'POST', '/v1beta/models/gemini-2.5-flash:countTokens', { body: {} }],
  ['google', 'POST', '/v1/models/gemini-2.5-flash:countTokens', { body: {} }],
  ['google', 'POST', '/v1beta/cachedContents', { body: { model: 'models/gemini-2.5-flash' } }],
  ['google', 'GET', '/v1beta/files/f', {}],
  ['google', 'POST', '/upload/v1beta/files', { body: SECRET }],
  ['google', 'POST', '/upload/v1/files', { body: SECRET, headers: { 'content-type': 'application/json' } }],
  ['google', 'POST', '/v1beta/batches/b:cancel', { body: {} }],
  ['aws', 'POST', '/model/amazon.nova-lite-v1%3A0/converse', { body: { messages: [SECRET] } }],
  ['aws', 'POST', '/model/amazon.nova-lite-v1%3A0/count-tokens', { body: {} }],
  ['llama', 'POST', '/api/chat', { body: { model: 'llama3' } }],
  ['llama', 'GET', '/api/tags', {}],
  ['groq', 'GET', '/openai/v1/models', {}],
  ['groq', 'POST', '/openai/v1/files', { body: SECRET }],
  ['groq', 'POST', '/openai/v1/batches', { body: { input_file_id: 'file_1' } }],
])('%s gets %s %s, and no other a byte', async (name, method, path, sent) => {
  expect((await send(method, path, sent)).status).toBe(200)
  expect(asked()).toEqual({ [name]: [path] })
})

test('a session of Gemini Live goes to Google, which names its model only later', async () => {
  const seen = Promise.withResolvers<string>()
  const onUpgrade = (request: { url?: string }, socket: { destroy(): void }) => {
    seen.resolve(request.url ?? '')
    socket.destroy()
  }
  upstreams.google.server.on('upgrade', onUpgrade)
  const path = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'
  const socket = new WebSocket(stack.url.replace('http', 'ws') + path, {
    headers: { 'x-goog-api-key': client.key },
  })
  socket.on('error', () => {})
  await once(socket, 'unexpected-response')
  expect(await seen.promise).toBe(path)
  upstreams.google.server.off('upgrade', onUpgrade)
  expect(asked()).toEqual({})
})

test.each<readonly [string, object, Record<string, string>]>([
  ['/v1/messages', { model: 'mistral-large', messages: [SECRET] }, {}],
  ['/v1beta/models/palm-2:generateContent', { contents: [SECRET] }, {}],
  ['/model/mistral.large/converse', { messages: [SECRET] }, {}],
  ['/api/chat', { model: 'phi4', messages: [SECRET] }, {}],
  ['/v1/messages', { model: 'mistral-large', messages: [SECRET] }, ANTHROPIC],
  ['/v1/m%65ssages', { model: 'mistral-large', messages: [SECRET] }, {}],
  ['/v1/chat/completions', { model: 'mistral-large', messages: [SECRET] }, {}],
  ['/v1/embeddings', { model: 'embed-v4.0', input: SECRET }, {}],
  ['/v1/responses?x=1', { model: 'gpt3', input: SECRET }, {}],
])('a model that no upstream serves is 404 on %s, and no upstream gets a byte', async (path, body, headers) => {
  const before = (await stack.usage(client)).requests
  const answer = await send('POST', path, { body, headers })
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([404, expect.stringContaining('No upstream')])
  expect(asked()).toEqual({})
  await send('GET', '/v1/batches')
  await stack.usageOf(client, before + 1)
})

test('the error has a code where its shape has room for one', async () => {
  const sent = { on: only, key: alone.key, body: { model: 'gemini-2.5-flash' } }
  expect(await send('POST', '/v1beta/openai/chat/completions', sent)).toMatchObject({
    status: 404,
    body: { error: { code: 'model_not_found', param: 'model' } },
  })
  expect(asked()).toEqual({})
})

test('with one upstream at the root, calls of another API reach it no more than with several', async () => {
  const sent = { on: only, key: alone.key }
  const claude = { model: 'claude-haiku-4-5', messages: [SECRET] }
  expect((await send('POST', '/v1/messages', { ...sent, body: claude })).status).toBe(404)
  expect((await send('POST', '/v1/files', { ...sent, body: SECRET, headers: ANTHROPIC })).status).toBe(404)
  expect((await send('POST', '/v1beta/models/gemini:generateContent', { ...sent, body: {} })).status).toBe(
    404,
  )
  expect(asked()).toEqual({})
  expect((await send('POST', '/claude/v1/messages', { ...sent, body: claude })).status).toBe(200)
  expect((await send('POST', '/v1/chat/completions', { ...sent, body: { model: 'any' } })).status).toBe(200)
  expect(asked()).toEqual({ claude: ['/v1/messages'], openai: ['/v1/chat/completions'] })
})

test('one upstream alone gets everything, in whatever API', async () => {
  const single = await startStack(upstreams.openai.url)
  const { key } = await single.addClient('single')
  await send('POST', '/v1/messages', { on: single, key, body: { model: 'claude-haiku-4-5' } })
  await send('POST', '/v1beta/models/gemini:generateContent', { on: single, key, body: {} })
  expect(asked()).toEqual({ openai: ['/v1/messages', '/v1beta/models/gemini:generateContent'] })
  await single.stop()
})

test.each([
  ['/chat/completions', '/v1/chat/completions'],
  ['/v1/v1/chat/completions', '/v1/chat/completions'],
  ['/v1/v1/v1/embeddings?x=1', '/v1/embeddings?x=1'],
  ['/embeddings', '/v1/embeddings'],
  ['/v1/chat/completions/', '/v1/chat/completions/'],
  ['/unheard-of', '/unheard-of'],
  ['/other/v1/chat/completions', '/other/v1/chat/completions'],
])('%s of a base URL with a /v1 too few or too many means %s', async (path, meant) => {
  await send('POST', path, { body: { model: 'gpt-4o', input: 'x' } })
  expect(asked()).toEqual({ openai: [meant] })
})

test('what is refused stays refused, with a /v1 too few or too many', async () => {
  for (const path of [
    '/realtime/client_secrets',
    '/v1/v1/realtime/client_secrets',
    '/v1/v1/organization/x',
  ]) {
    expect((await send('POST', path, { body: {} })).status).toBe(403)
  }
  expect(asked()).toEqual({})
})

test.each([
  '/models',
  '/usage',
  '/v1/v1/models',
  '/v1/v1/usage',
  '/v1/usage/',
  '/usage?days=1',
])('%s is the gateway’s own', async (path) => {
  const { status, body } = await send('GET', path)
  expect([status, body.object ?? body.client]).toEqual([200, path.includes('models') ? 'list' : 'all'])
  expect(asked()).toEqual({})
})
