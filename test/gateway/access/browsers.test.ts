import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { exchange, requestText } from '../raw-http.ts'

const PAGE = 'https://app.example.com'
const CHAT = '{"model":"gpt-4o-mini","messages":[]}'

let folder: string
let upstream: TestUpstream
let open: TestStack
let closed: TestStack
let client: TestClient
let shut: TestClient

beforeAll(async () => {
  const answer = '{"model":"gpt-4o-mini","usage":{"prompt_tokens":1,"completion_tokens":1}}'
  upstream = await startUpstream((request, response) => {
    response.writeHead(request.url.includes('fail') ? 418 : 200, {
      'content-type': request.body.includes('stream') ? 'text/event-stream' : 'application/json',
      'access-control-allow-origin': 'https://upstream.example',
      'access-control-allow-credentials': 'true',
      'set-cookie': 'session=1',
      'strict-transport-security': 'max-age=1; includeSubDomains; preload',
      'alt-svc': 'h3=":443"',
      'x-request-id': 'theirs',
      vary: 'Accept-Encoding',
      ...(request.url.includes('whole') ? { 'content-length': `${answer.length}` } : {}),
    })
    response.write(answer.slice(0, 23))
    response.end(answer.slice(23))
  })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-pages-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `compat: litellm
cost_in_answers: [page]
upstreams: [{ name: only, url: '${upstream.url}', provider: openai }]
routes: [{ model: routed, to: [{ upstream: only, model: gpt-4o-mini }] }]
`,
  )
  const env = { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file }
  ;[open, closed] = await Promise.all([
    startStack('', { env: { ...env, CORS_ORIGINS: `${PAGE}, http://localhost:3000` } }),
    startStack(upstream.url),
  ])
  ;[client, shut] = await Promise.all([open.addClient('page'), closed.addClient('page')])
})

afterAll(async () => {
  await Promise.all([open?.stop(), closed?.stop()])
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => {
  upstream.requests.length = 0
})

interface Asked {
  readonly stack?: TestStack
  readonly origin?: string
  readonly method?: string
  readonly key?: string
  readonly body?: string
  readonly headers?: readonly string[]
}

/** Headers of an answer by lower-case names, as a page from `origin` gets it; repeated ones are joined. */
async function ask(path: string, asked: Asked = {}) {
  const { stack = open, origin = PAGE, method = 'POST', key = client.key, body = CHAT } = asked
  const sent = [
    `Origin: ${origin}`,
    ...(key === '' ? [] : [`Authorization: Bearer ${key}`]),
    ...(method === 'POST' ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : []),
    ...(asked.headers ?? []),
  ]
  const {
    status,
    lines,
    body: answered,
  } = await exchange(stack.url, requestText(path, sent, method, method === 'POST' ? body : ''))
  const headers: Record<string, string> = {}
  for (const line of lines.slice(1)) {
    const [name = '', value = ''] = line.split(/: (.*)/s)
    const known = headers[name.toLowerCase()]
    headers[name.toLowerCase()] = known === undefined ? value : `${known}, ${value}`
  }
  return { status, headers, body: answered.toString() }
}

type Headers = Awaited<ReturnType<typeof ask>>['headers']

/** The headers that the answer names for its page. */
function shownIn(headers: Headers): ReadonlySet<string> {
  return new Set(headers['access-control-expose-headers']?.split(', ') ?? [])
}

/** Those that it has, but for those that every page sees or that are of its connection. */
function ownIn(headers: Headers): ReadonlySet<string> {
  const others = ['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive']
  const names = Object.keys(headers).filter((name) => !name.startsWith('access-control-'))
  return new Set(names).difference(new Set([...others, 'transfer-encoding', 'vary']))
}

const PREFLIGHT = [
  'Access-Control-Request-Method: POST',
  'Access-Control-Request-Headers: authorization,content-type,x-stainless-os',
]

test('a preflight of an allowed page is answered without a key, and is not a call', async () => {
  const { requests } = await open.usage(client)
  for (const path of ['/v1/chat/completions', '/v1/usage', '/v1/models/x', '/nothing']) {
    const { status, headers, body } = await ask(path, { method: 'OPTIONS', key: '', headers: PREFLIGHT })
    expect([status, body]).toEqual([204, ''])
    expect(headers).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      'access-control-max-age': '600',
      vary: 'Origin',
    })
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
  }
  await (await fetch(`${open.url}/v1/files`, { headers: { authorization: `Bearer ${client.key}` } })).text()
  await open.usageOf(client, requests + 1)
  expect(upstream.requests.map(({ method }) => method)).toEqual(['GET'])
})

test.each([
  ['another origin', { origin: 'https://evil.example' }],
  ['a part of an allowed one', { origin: 'https://app.example.com.evil.example' }],
  ['no origin at all', { origin: 'null' }],
  ['a plain one', { origin: 'http://app.example.com' }],
  ['any, where none is allowed', { stack: 'closed' }],
] as const)('a preflight from %s is a request without a key', async (_what, {
  stack,
  ...asked
}: { stack?: string; origin?: string }) => {
  const { status, headers } = await ask('/v1/chat/completions', {
    ...asked,
    stack: stack === undefined ? open : closed,
    method: 'OPTIONS',
    key: '',
    headers: PREFLIGHT,
  })
  expect(status).toBe(401)
  expect(headers).not.toHaveProperty('access-control-allow-origin')
})

test.each([
  ['a call', '/v1/chat/completions', {}, 200],
  ['a stream', '/v1/chat/completions', { body: CHAT.replace('{', '{"stream":true,') }, 200],
  ['an error of the upstream', '/v1/chat/completions?fail=1', {}, 418],
  ['a wrong key', '/v1/chat/completions', { key: 'tg_wrong' }, 401],
  ['no key', '/v1/chat/completions', { key: '' }, 401],
  ['usage', '/v1/usage', { method: 'GET' }, 200],
  ['a bad query', '/v1/usage?days=0', { method: 'GET' }, 400],
  ['models', '/v1/models', { method: 'GET' }, 200],
  ['a path that is none', '/v1/%zz', { method: 'GET' }, 400],
  ['a refused path', '/v1/organization', { method: 'GET' }, 403],
] as const)('%s can be read by an allowed page, headers too, and by no other', async (_what, path, asked: Asked, status) => {
  const answer = await ask(path, asked)
  expect(answer.status).toBe(status)
  expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
  expect(shownIn(answer.headers)).toEqual(ownIn(answer.headers))
  expect(answer.headers.vary?.split(', ')).toContain('Origin')
  const other = await ask(path, { ...asked, origin: 'https://evil.example' })
  expect(other.status).toBe(status)
  expect(Object.keys(other.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
})

test('a page sees what a call cost, its rates, its route and what LiteLLM says, under the names that these have', async () => {
  const subject = { clientId: client.id, keyId: null, model: null }
  await setLimits(
    open.pool,
    subject,
    [{ kind: 'requests', per: null, isSoft: false, amount: 1_000n }],
    'test',
  )
  const body = CHAT.replace('gpt-4o-mini', 'routed')
  const headersOf = async () => (await ask('/v1/chat/completions?whole=1', { body })).headers
  await expect.poll(async () => [...shownIn(await headersOf())]).toContain('x-ratelimit-remaining-requests')
  const headers = await headersOf()
  expect(shownIn(headers)).toEqual(ownIn(headers))
  expect([...shownIn(headers)]).toEqual(
    expect.arrayContaining([
      ...['x-tallygate-call-id', 'x-tallygate-attempts', 'x-tallygate-upstream', 'x-tallygate-cost-usd'],
      ...['x-litellm-call-id', 'x-litellm-response-cost', 'x-request-id'],
    ]),
  )
})

test('nothing of the upstream’s origin passes as the gateway’s, nor does the page’s origin go upstream', async () => {
  const { headers } = await ask('/v1/chat/completions')
  expect(headers.vary).toBe('Accept-Encoding, Origin')
  for (const name of [
    'set-cookie',
    'strict-transport-security',
    'alt-svc',
    'access-control-allow-credentials',
  ])
    expect(headers).not.toHaveProperty(name)
  expect(upstream.requests[0]?.headers).not.toHaveProperty('origin')
})

test('without CORS_ORIGINS the upstream says which pages may read, and sets no rules for the origin all the same', async () => {
  const { headers } = await ask('/v1/chat/completions', { stack: closed, key: shut.key })
  expect(headers).toMatchObject({
    'access-control-allow-origin': 'https://upstream.example',
    vary: 'Accept-Encoding',
  })
  for (const name of ['set-cookie', 'strict-transport-security', 'alt-svc'])
    expect(headers).not.toHaveProperty(name)
  expect(upstream.requests[0]?.headers.origin).toBe(PAGE)
})

test('the operator’s listener is open to no page', async () => {
  const { port } = open.gateway.adminAddress
  for (const path of ['/metrics', '/admin/v1/clients', '/dashboard', '/healthz']) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { origin: PAGE } })
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    await answer.arrayBuffer()
  }
})

test('* is for all pages', async () => {
  const all = await startStack(upstream.url, { env: { CORS_ORIGINS: '*' } })
  const asked = { stack: all, origin: 'https://any.example', method: 'GET', key: '' }
  expect((await ask('/v1/usage', asked)).headers['access-control-allow-origin']).toBe('*')
  await all.stop()
})
