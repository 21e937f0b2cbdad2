import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let folder: string
let openai: TestUpstream
let claude: TestUpstream
let grok: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-upstreams-'))
  ;[openai, claude, grok] = await Promise.all([startUpstream(), startUpstream(), startUpstream()])
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${openai.url}/v1', provider: openai, api_key_env: OPENAI_KEY, models: ['gpt-*', 'o3'] }
  - { name: claude, url: '${claude.url}', provider: anthropic, api_key_env: CLAUDE_KEY, models: ['claude-*', 'gpt-claude'] }
  - { name: grok, url: '${grok.url}/base', provider: xai, path_prefix: /grok }
default_upstream: openai
`,
  )
  stack = await startStack('', {
    env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, OPENAI_KEY: 'sk-openai', CLAUDE_KEY: 'sk-claude' },
  })
  client = await stack.addClient('router')
})

afterAll(async () => {
  await stack?.stop()
  await Promise.all([openai, claude, grok].map((upstream) => upstream?.close()))
  await rm(folder, { recursive: true })
})

beforeEach(() => {
  for (const { requests } of [openai, claude, grok]) requests.length = 0
})

async function post(
  path: string,
  body: string,
  key = client.key,
  type = 'application/json',
): Promise<number> {
  const answer = await fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    body,
  })
  await answer.arrayBuffer()
  return answer.status
}

/** Which upstream was asked for what since the test began. */
function asked(): Record<string, string[]> {
  const entries = Object.entries({ openai, claude, grok })
  return Object.fromEntries(
    entries.flatMap(([name, { requests }]) =>
      requests.length === 0 ? [] : [[name, requests.map(({ url }) => url)]],
    ),
  )
}

test.each([
  ['gpt-4o-mini', 'openai'],
  ['o3', 'openai'],
  ['claude-haiku-4-5', 'claude'],
  ['gpt-claude', 'claude'], // an exact name beats a pattern
  ['llama-3', 'openai'], // the default
])('a call for %s goes to %s', async (model, name) => {
  expect(await post('/v1/chat/completions', JSON.stringify({ model, messages: [] }))).toBe(200)
  expect(asked()).toEqual({ [name]: ['/v1/chat/completions'] })
})

test("each upstream gets its own credential, in its provider's header, and no other", async () => {
  await post('/v1/messages', '{"model":"claude-haiku-4-5"}')
  await post('/v1/chat/completions', '{"model":"gpt-4o-mini"}')
  await post('/grok/v1/chat/completions', '{"model":"grok-4"}')
  expect(claude.requests[0]?.headers).toMatchObject({
    'x-api-key': 'sk-claude',
    host: new URL(claude.url).host,
  })
  expect(claude.requests[0]?.headers.authorization).toBeUndefined()
  expect(openai.requests[0]?.headers).toMatchObject({ authorization: 'Bearer sk-openai' })
  expect(grok.requests[0]?.headers.authorization).toBeUndefined()
  expect(JSON.stringify([openai, claude, grok].map(({ requests }) => requests[0]?.rawHeaders))).not.toContain(
    'tg_',
  )
})

test('a call under a prefix goes there whatever it is, the prefix taken off, its own operations too', async () => {
  expect(await post('/grok/v1/chat/completions?x=1', '{"model":"gpt-4o-mini"}')).toBe(200)
  const list = await fetch(`${stack.url}/grok/v1/models`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  expect(await list.json()).toMatchObject({ object: expect.stringMatching(/list|chat/) })
  expect(await post('/grok/v1/usage', '')).toBe(200)
  expect(await post('/grok', '')).toBe(200)
  expect(await post('/grokking', '')).toBe(200)
  expect(asked()).toEqual({
    grok: ['/base/v1/chat/completions?x=1', '/base/v1/models', '/base/v1/usage', '/base/'],
    openai: ['/grokking'],
  })
})

test('what names no model goes to the default upstream', async () => {
  expect(await post('/v1/files', 'bytes', client.key, 'application/octet-stream')).toBe(200)
  expect(await post('/v1/chat/completions', 'no json')).toBe(200)
  expect(asked()).toEqual({ openai: ['/v1/files', '/v1/chat/completions'] })
})

test("a model-restricted key keeps its limits on every upstream's paths", async () => {
  const { key } = await stack.addClient('narrow', { models: ['gpt-4o-mini'] })
  expect(await post('/grok/v1/chat/completions', '{"model":"grok-4"}', key)).toBe(403)
  expect(await post('/v1/messages', '{"model":"claude-haiku-4-5"}', key)).toBe(403)
  expect(await post('/grok/v1/unknown', '{"model":"grok-4"}', key)).toBe(403)
  expect(await post('/grok/v1/chat/completions', '{"model":"gpt-4o-mini"}', key)).toBe(200)
  expect(asked()).toEqual({ grok: ['/base/v1/chat/completions'] })
})

test('calls say in their records where they went', async () => {
  const other = await stack.addClient('recorded')
  await post('/v1/chat/completions', '{"model":"gpt-4o-mini"}', other.key)
  await post('/grok/v1/chat/completions', '{"model":"grok-4"}', other.key)
  await stack.usageOf(other, 2)
  expect(await stack.calls(other)).toMatchObject([
    { upstream: 'openai', provider: 'openai', path: '/v1/chat/completions' },
    { upstream: 'grok', provider: 'xai', path: '/v1/chat/completions' },
  ])
})
