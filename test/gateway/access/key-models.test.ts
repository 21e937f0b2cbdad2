import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { chatAnswer, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: any, url: '${upstream.url}', provider: openai-compatible, path_prefix: /any }
  - { name: perplexity, url: '${upstream.url}', provider: perplexity, path_prefix: /perplexity }
`,
  )
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: file } })
  client = await stack.addClient('restricted', { models: ['gpt-4o-mini', 'o3*'] })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

beforeEach(() => {
  upstream.requests.length = 0
  upstream.answer(chatAnswer)
})

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly headers?: Record<string, string>
}

async function send(
  body: string | Uint8Array<ArrayBuffer> | FormData,
  sent: Sent = {},
): Promise<[number, unknown]> {
  const { path = '/v1/chat/completions', method = 'POST', headers = {} } = sent
  const type = body instanceof FormData ? {} : { 'content-type': 'application/json' }
  const answer = await fetch(stack.url + path, {
    method,
    headers: { authorization: `Bearer ${client.key}`, ...type, ...headers },
    body,
  })
  const text = await answer.text()
  return [answer.status, answer.status === 200 ? null : JSON.parse(text)]
}

const NOT_ALLOWED = [
  403,
  {
    error: { message: expect.any(String), type: 'permission_error', param: null, code: 'model_not_allowed' },
  },
]

test('calls for the models of a key go upstream untouched', async () => {
  for (const model of ['gpt-4o-mini', 'o3', 'o3-mini', 'o3-2025-04-16']) {
    const body = `{ "messages":[],\t"model" : "${model}" ,"seed": 1e2}`
    expect(await send(body)).toEqual([200, null])
    expect(upstream.requests.pop()?.body.toString()).toBe(body)
  }
})

test('a tool that draws by a model of the provider’s choice is refused, and one that names its model is not', async () => {
  const respond = (tools: object[], headers: Record<string, string> = {}) =>
    send(JSON.stringify({ model: 'gpt-4o-mini', input: 'x', tools }), { path: '/v1/responses', headers })
  const deployment = (name: string) => ({ 'x-ms-oai-image-generation-deployment': name })
  const draws = { type: 'image_generation' }
  expect(await respond([draws])).toEqual(NOT_ALLOWED)
  expect(await respond([{ ...draws, model: 'gpt-image-1' }])).toEqual(NOT_ALLOWED)
  expect(await respond([{ ...draws, model: 'o3' }, draws])).toEqual(NOT_ALLOWED)
  expect(await respond([draws], deployment('gpt-image-1'))).toEqual(NOT_ALLOWED)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const input = 'draw &tools.model=gpt-4o-mini& a cat'
  const asForm = JSON.stringify({ model: 'gpt-4o-mini', tools: [draws], input })
  expect(await send(asForm, { path: '/v1/responses', headers: form })).toEqual(NOT_ALLOWED)
  expect(await respond([{ ...draws, model: 'o3' }], deployment('gpt-image-1'))).toEqual(NOT_ALLOWED)
  expect(upstream.requests).toEqual([])
  expect(
    await respond([
      { ...draws, model: 'o3' },
      { type: 'function', name: 'f' },
    ]),
  ).toEqual([200, null])
  expect(await respond([draws], deployment('o3'))).toEqual([200, null])
  expect(upstream.requests.pop()?.headers).toMatchObject(deployment('o3'))
  const elsewhere = [
    'azureml-model-deployment',
    'x-ms-model-mesh-model-name',
    'x-amzn-sagemaker-adapter-identifier',
  ]
  await respond([], Object.fromEntries(elsewhere.map((name) => [name, 'gpt-5'])))
  expect(Object.values(upstream.requests.pop()?.headers ?? {})).not.toContain('gpt-5')
})

test('a call for another model, or for one that two readers could read differently, is refused', async () => {
  const bodies = [
    '{"model":"gpt-4o"}',
    '{"model":"gpt-4o-mini-2"}',
    '{"model":"GPT-4o-mini"}',
    '{"model":"o4-mini"}',
    '{"model":" o3"}',
    '{"model":"gpt-4o-mini","model":"gpt-4o"}',
    '{"model":"gpt-4o","model":"gpt-4o-mini"}',
    '{"model":"gpt-4o-mini","mod\\u0065l":"gpt-4o"}',
    '{"model":"gpt-4o-mini","Model":"gpt-4o"}',
    '{"model":"gpt-4o-mini","models":["gpt-4o"]}',
    '{"model":"gpt-4o-mini","fallbacks":[{"model":"gpt-4o"}]}',
    '{"model":"gpt-4o-mini","Fallbacks":["gpt-4o"]}',
    '{"model":"gpt-4o-mini","context_window_fallbacks":[{"gpt-4o-mini":["gpt-4o"]}]}',
    '{"model":"gpt-4o-mini","content_policy_fallbacks":[{"gpt-4o-mini":["gpt-4o"]}]}',
    '{"model":"gpt-4o-mini","user_config":{"model_list":[]}}',
    '{"model":"gpt-4o-mini","preset":"all"}',
    '{"model":"gpt-4o-mini","prompt_id":"all"}',
    '{"model":"o3@preset/all"}',
    '{"model":"gpt-4o-mini","extra_body":{"model":"gpt-4o"}}',
    '{"model":"gpt-4o-mini","Extra_Body":{"m\\u006fdel":"gpt-4o"}}',
    '{"model":"gpt-4o-mini","extra_body":{"x":{"fallbacks":["gpt-4o"]}}}',
    `{"model":"gpt-4o-mini","extra_body":{"x":"${'x'.repeat(70_000)}","model":"gpt-4o"}}`,
    '{"model":"gpt-4o-mini","model_list":[{"model":"gpt-4o"}]}',
    '{"model":"o3,gpt-4o"}',
    '{"model":"o3-mini\\u002c gpt-4o"}',
    '{"model":"o3/../gpt-4o"}',
    '{"model":"o3%2F%2e./gpt-4o"}',
    '{"model":["gpt-4o-mini"]}',
    '{"model":null}',
    '{}',
    '',
    '[]',
    '{"model":"gpt-4o-mini"',
    '{"model":"gpt-4o-mini"}{"model":"gpt-4o"}',
  ]
  for (const body of bodies) expect([body, ...(await send(body))]).toEqual([body, ...NOT_ALLOWED])
  expect(upstream.requests).toEqual([])
})

test('what Google’s libraries put over the body names no model, and passes', async () => {
  const thinking = { google: { thinking_config: { thinking_budget: 100 } } }
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [], extra_body: thinking })
  expect(await send(body)).toEqual([200, null])
})

test('a list in the body beside a model in the path is refused, whichever the server takes', async () => {
  const path = '/any/v1/engines/gpt-4o-mini/chat/completions'
  expect(await send('{"model":"o3,gpt-4o"}', { path })).toEqual(NOT_ALLOWED)
  expect(await send('{"model":"o3/../gpt-4o"}', { path })).toEqual(NOT_ALLOWED)
  expect(upstream.requests).toEqual([])
})

test('a model in the query or in the path, which a server puts above that of the body, is refused', async () => {
  const body = '{"model":"gpt-4o-mini"}'
  const paths = [
    '/any/v1/chat/completions?model=gpt-4o',
    '/any/v1/chat/completions?model=gpt-4o-mini&mod%65l=gpt-4o',
    '/any/v1/chat/completions?user=a&model=',
    '/any/engines/gpt-4o/chat/completions',
    '/any/v1/engines/gpt-4o/completions',
    '/any/engines/o3,gpt-4o/chat/completions',
    '/any/v1/projects/p/locations/l/endpoints/123/chat/completions',
    '/any/v1/projects/p/locations/l/%65ndpoints//123/chat/completions/',
  ]
  for (const path of paths) expect([path, ...(await send(body, { path }))]).toEqual([path, ...NOT_ALLOWED])
  const settings =
    '{"model":"gpt-4o-mini","router_settings_override":{"fallbacks":[{"gpt-4o-mini":["gpt-4o"]}]}}'
  expect(await send(settings)).toEqual(NOT_ALLOWED)
  expect(upstream.requests).toEqual([])
  expect(await send(body, { path: '/any/v1/chat/completions?model=gpt-4o-mini' })).toEqual([200, null])
  expect(await send(body, { path: '/any/engines/gpt-4o-mini/chat/completions' })).toEqual([200, null])
})

test('a model that a tool asks, or that stands by for another, is refused in chats and messages too', async () => {
  const bodies = [
    [
      '/any/v1/messages',
      { tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-8' }] },
    ],
    ['/v1/chat/completions', { tools: [{ type: 'openrouter:advisor', parameters: { model: 'gpt-4o' } }] }],
    ['/v1/chat/completions', { plugins: [{ id: 'fusion', models: ['gpt-4o'] }] }],
    ['/v1/chat/completions', { providerOptions: { gateway: { models: ['gpt-4o'] } } }],
  ] as const
  for (const [path, rest] of bodies) {
    const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [], ...rest })
    expect([body, (await send(body, { path }))[0]]).toEqual([body, 403])
  }
  expect(upstream.requests).toEqual([])
  const parameters = { type: 'object', properties: { model: { type: 'string' } } }
  const honest = {
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
    metadata: { model: 'mine' },
  }
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [], ...honest })
  expect(await send(body)).toEqual([200, null])
})

test('what cannot be read cannot be allowed: lies about the coding of a body, and unknown paths', async () => {
  const allowed = '{"model":"gpt-4o-mini"}'
  const [status, refusal] = await send(allowed, { headers: { 'content-encoding': 'gzip' } })
  expect([status, refusal]).toMatchObject([415, { error: { code: 'unsupported_encoding' } }])
  for (const type of ['text/plain', 'application/json']) {
    expect(await send(allowed, { path: '/v1/other', headers: { 'content-type': type } })).toEqual(NOT_ALLOWED)
  }
  expect(upstream.requests).toEqual([])
})

test('JSON that a server with forms may read another model in is refused, plain JSON called a form is not', async () => {
  const urlencoded = 'application/x-www-form-urlencoded'
  const asForm = (name: string) => `{"model":"gpt-4o-mini","user":"&${name}=gpt-4o&x="}`
  const multipart =
    '{"model":"gpt-4o-mini","user":"\r\n--x\r\nContent-Disposition: form-data; name=model\r\n\r\ngpt-4o\r\n--x--"}'
  for (const [type, body] of [
    [urlencoded, asForm('model')],
    [`${urlencoded}; charset=utf-8`, asForm('%6D%6fdel')],
    ['multipart/form-data; boundary=x', multipart],
  ] as const) {
    expect([body, ...(await send(body, { headers: { 'content-type': type } }))]).toEqual([
      body,
      ...NOT_ALLOWED,
    ])
  }
  expect(upstream.requests).toEqual([])
  const plain = '{"model":"gpt-4o-mini","user":"a & b; model = c"}'
  expect(await send(plain, { headers: { 'content-type': urlencoded } })).toEqual([200, null])
})

test('a body whose text depends on a charset that a server may know is not read', async () => {
  const body = '{"model":"gpt-4o-mini","user":"\\u0022,\\u0022model\\u0022:\\u0022gpt-4o"}'
  for (const charset of [
    'utf-7',
    'unicode_escape',
    '"raw-unicode-escape"',
    'shift_jis',
    "utf-8; charset*=us-ascii''utf-7",
  ]) {
    const [status] = await send(body, { headers: { 'content-type': `application/json; charset=${charset}` } })
    expect([charset, status]).toEqual([charset, 415])
  }
  expect(upstream.requests).toEqual([])
  for (const charset of ['utf-8', '"UTF-8"', 'iso-8859-1']) {
    expect(await send(body, { headers: { 'content-type': `application/json; charset=${charset}` } })).toEqual(
      [200, null],
    )
  }
})

test('a compressed body is read for its model, and goes upstream as it is', async () => {
  const gzip = { headers: { 'content-encoding': 'gzip' } }
  const body = gzipSync('{"model":"gpt-4o-mini"}')
  expect(await send(body, gzip)).toEqual([200, null])
  expect(upstream.requests).toMatchObject([{ body, headers: { 'content-encoding': 'gzip' } }])
  expect(await send(gzipSync('{"model":"gpt-4o"}'), gzip)).toEqual(NOT_ALLOWED)
  expect(upstream.requests).toHaveLength(1)
})

test('a body on a request of any method is judged as that of a POST, since many routers take any', async () => {
  for (const method of ['PUT', 'PATCH']) {
    expect(await send('{"model":"gpt-4o"}', { method })).toEqual(NOT_ALLOWED)
    // A DELETE of all completions would delete those of others.
    const [status] = await send('{"model":"gpt-4o-mini"}', { method })
    expect([method, status]).toEqual([method, method === 'DELETE' ? 404 : 200])
  }
})

test('calls that run no model pass: what is fetched, listed or deleted', async () => {
  for (const [method, path] of [
    ['GET', '/v1/files'],
    ['GET', '/v1/responses/resp_1'],
    ['DELETE', '/v1/files/file-1'],
  ] as const) {
    const answer = await fetch(stack.url + path, {
      method,
      headers: { authorization: `Bearer ${client.key}` },
    })
    expect([method, path, answer.status]).toEqual([method, path, 200])
  }
})

test.each([
  '/v1beta/models/gemini-2.5-pro:generateContent',
  '/v1beta/models/gemini-2.5-pro:generateConten%74',
  '/v1beta/models/gemini-2.5-pro%3AgenerateContent',
  '/v1beta/models/gemini-2.5-pro:GENERATECONTENT',
  '/v1beta/models/gemini-2.5-pro:generateContent;x',
  '/v1beta/models/gemini-2.5-pro:generateContent/',
  '/v1beta/models//gemini-2.5-pro:generateContent',
  '/v1beta/models%2fgemini-2.5-pro:generateContent',
])('a model in the body does not hide the one in the path %s', async (path) => {
  const [status] = await send('{"model":"gpt-4o-mini","contents":[]}', { path: `/any${path}` })
  expect([status, upstream.requests]).toEqual([403, []])
})

test('a refusal on an Anthropic path has the shape that its clients read', async () => {
  expect(await send('{"model":"claude-opus-4-5"}', { path: '/any/v1/messages' })).toEqual([
    403,
    { type: 'error', error: { type: 'permission_error', message: expect.any(String) } },
  ])
})

test('refused calls are not counted', async () => {
  client = await stack.addClient('refused', { models: ['gpt-4o-mini'] })
  expect(await send('{"model":"gpt-4o"}')).toEqual(NOT_ALLOWED)
  expect(await send('{"model":"gpt-4o-mini"}')).toEqual([200, null])
  expect(await stack.usageOf(client, 1)).toMatchObject({ requests: 1, input_tokens: 11 })
})

// docs.perplexity.ai, "Create Async Chat Completion": the model stands in `request`.
test.each([
  ['names one of the list', { request: { model: 'gpt-4o-mini', messages: [] } }, 200],
  [
    'names one of the list, beside a key of another letter',
    { request: { model: 'gpt-4o-mini' }, Request: {} },
    403,
  ],
  ['names another', { request: { model: 'sonar-deep-research', messages: [] } }, 403],
  ['names another beside it', { model: 'gpt-4o-mini', request: { model: 'sonar' } }, 403],
  ['names it twice', '{"request":{"model":"gpt-4o-mini","model":"sonar"}}', 403],
  ['has two requests', '{"request":{"model":"gpt-4o-mini"},"request":{"model":"sonar"}}', 403],
  [
    'has a request that is escaped',
    '{"request":{"model":"gpt-4o-mini"},"r\\u0065quest":{"model":"sonar"}}',
    403,
  ],
  ['names none', { request: { messages: [] } }, 403],
  ['has no request', { model: 'gpt-4o-mini' }, 403],
])('a call for later that %s passes a list of models only if that has it', async (_name, body, status) => {
  for (const path of ['/perplexity/v1/async/sonar', '/perplexity/async/chat/completions']) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    expect((await send(text, { path }))[0]).toBe(status)
  }
  expect(upstream.requests.length).toBe(status === 200 ? 2 : 0)
})
