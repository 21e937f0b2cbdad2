import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { exchange, requestText } from '../raw-http.ts'

const PAGE = 'https://app.example.com'
const CHAT = '{"model":"gpt-4o-mini","messages":[]}'

let upstream: TestUpstream
let open: TestStack
let closed: TestStack
let client: TestClient
let shut: TestClient

beforeAll(async () => {
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
    })
    response.write('{"model":"gpt-4o-mini",')
    response.end('"usage":{"prompt_tokens":1,"completion_tokens":1}}')
  })
  ;[open, closed] = await Promise.all([
    startStack(upstream.url, { env: { CORS_ORIGINS: `${PAGE}, http://localhost:3000` } }),
    startStack(upstream.url),
  ])
  ;[client, shut] = await Promise.all([open.addClient('page'), closed.addClient('page')])
})

afterAll(async () => {
  await Promise.all([open?.stop(), closed?.stop()])
  await upstream?.close()
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
  expect(answer.headers['access-control-expose-headers']).toMatch(
    /x-tallygate-call-id.*x-request-id.*retry-after.*x-ratelimit-remaining-tokens/,
  )
  expect(answer.headers.vary?.split(', ')).toContain('Origin')
  const other = await ask(path, { ...asked, origin: 'https://evil.example' })
  expect(other.status).toBe(status)
  expect(Object.keys(other.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
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
