import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { exchange, requestText } from '../raw-http.ts'

let upstream: TestUpstream
let stack: TestStack
let based: TestStack
let client: TestClient
let basedClient: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  based = await startStack(upstream.url, { env: { BASE_PATH: '/llm' } })
  client = await stack.addClient('walker')
  basedClient = await based.addClient('based')
})

afterAll(async () => {
  await stack?.stop()
  await based?.stop()
  await upstream?.close()
})

beforeEach(() => {
  upstream.requests.length = 0
})

async function ask(target: string, key = client.key, url = stack.url): Promise<[number, string]> {
  const { status, body } = await exchange(url, requestText(target, [`Authorization: Bearer ${key}`]))
  return [status, status === 200 ? '' : JSON.parse(body.toString()).error.code]
}

const INVALID = [400, null]

test.each([
  '/v1/unknown',
  '/v1/unknown/route?x=1',
  '/v2/anything',
  '/',
  '/?a=b',
  '/v1/',
  '/v1/usages',
  '/v1/usage/x',
  '/v1/chat/completions/',
  '/v1/100%25',
  '/v1/a%2Fb',
  '/v1/%E2%82%AC',
  "/v1/a:b;c=d,e'f(g)*h!$&i+j@k~l",
  '/v1/x?q=%zz&r=a b'.replace(' ', '%20'),
  '/v1/x?a[]=1&a[]=2&&=&?%00',
  '/v1/x?url=http://elsewhere/../y',
  '/admin/v1/clients',
  '/metrics',
])('%s goes upstream as it was written', async (target) => {
  expect(await ask(target)).toEqual([200, ''])
  expect(upstream.requests.map(({ url }) => url)).toEqual([target])
})

test.each([
  '/v1/../admin',
  '/v1/x/../../admin',
  '/v1/%2e%2e/admin',
  '/v1/%2E%2e/%2e./admin',
  '/v1/.%2e/admin',
  '/v1/..%2fadmin',
  '/v1/..\\admin',
  '/v1/..',
  '/..',
  '//elsewhere.test/v1/x',
  '///v1/x',
  '/v1/..;/admin',
  '/v1/%252e%252e/admin',
  '/v1/100%',
  '/v1/%zz',
  '/v1/x#y',
  '/v1/usage#y',
  '/v1/x%00',
  '/v1/x%0ay',
  'http://elsewhere.test/v1/x',
])('%s is refused and goes nowhere', async (target) => {
  expect(await ask(target)).toEqual(INVALID)
  expect(upstream.requests).toEqual([])
})

test.each([
  '/v1/usage/',
  '/V1/usage',
  '/v1/%75sage?days=1',
  '/v1%2Fusage',
  '/v1//usage',
  '/v1/./usage',
  '/v1/usage;x',
  '/V1/Models',
  '/v1/model%73/gpt-4o-mini',
])("%s is the gateway's own, however it is written", async (target) => {
  expect(await ask(target)).toEqual([200, ''])
  expect(upstream.requests).toEqual([])
})

test.each([
  'v1/x',
  '*',
  '/v1/a b',
  '/v1/x?a=\xe9',
  '/v1/\xff',
])('%s is not a request target', async (target) => {
  const [status] = await ask(target)
  expect(status).toBe(400)
  expect(upstream.requests).toEqual([])
})

test('a refused path does not show a client without a key whether it exists', async () => {
  for (const target of ['/v1/../admin', '/v1/100%', '/v1/x', '//x']) {
    const { status } = await exchange(stack.url, requestText(target))
    expect([target, status]).toEqual([target, expect.toSatisfy((code) => code === 401 || code === 400)])
  }
})

test('BASE_PATH: everything under it is served, the prefix taken off', async () => {
  const { key } = basedClient
  const origin = new URL(based.url).origin
  expect(await ask('/llm/v1/unknown?x=1', key, origin)).toEqual([200, ''])
  expect(await ask('/llm/llm/v1/x', key, origin)).toEqual([200, ''])
  expect(await ask('/llm', key, origin)).toEqual([200, ''])
  expect(await ask('/llm/', key, origin)).toEqual([200, ''])
  expect(await ask('/llm?a=b', key, origin)).toEqual([200, ''])
  expect(upstream.requests.map(({ url }) => url)).toEqual(['/v1/unknown?x=1', '/llm/v1/x', '/', '/', '/?a=b'])
  expect(await based.usageOf(basedClient, 5)).toMatchObject({ client: 'based' })
  expect(await ask('/llm/v1/models', key, origin)).toEqual([200, ''])
  for (const path of ['/healthz', '/readyz', '/llm/healthz', '/llm/readyz']) {
    expect(await ask(path, key, origin)).toEqual([200, ''])
  }
  expect(await based.usage(basedClient)).toMatchObject({ requests: 5 })
})

test.each([
  '/v1/usage',
  '/v1/models',
  '/v1/chat/completions',
  '/',
  '/llmx/v1/usage',
  '/LLM/v1/usage',
])('BASE_PATH: %s is outside and not found', async (target) => {
  expect(await ask(target, basedClient.key, new URL(based.url).origin)).toEqual([404, 'not_found'])
  expect(upstream.requests).toEqual([])
})

test.each([
  '/llm/../v1/x',
  '/llm/v1/../../x',
  '/llm//elsewhere.test',
  '/llm/%2e%2e/x',
])('BASE_PATH: %s does not leave it', async (target) => {
  const [status] = await ask(target, basedClient.key, new URL(based.url).origin)
  expect([400, 404]).toContain(status)
  expect(upstream.requests).toEqual([])
})
