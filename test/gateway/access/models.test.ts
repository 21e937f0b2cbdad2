import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { modelShapeOf } from '../../../src/gateway/routes/models.ts'
import { parseList, type ShownModel } from '../../../src/gateway/upstream-models.ts'
import { busyness } from '../../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json } from '../../support/upstream.ts'

const LISTED = [
  { id: 'gpt-4o-mini', object: 'model', created: 1_721_172_741, owned_by: 'system' },
  { id: 'meta-llama/Llama-3.3-70B', object: 'model', owned_by: 'meta', permission: [{ id: 'x' }] },
  { id: 'bare' },
  { id: 42 },
  { object: 'model' },
  { id: 'gpt-4o-mini', owned_by: 'twice' },
]
const SHOWN = [
  { id: 'gpt-4o-mini', object: 'model', created: 1_721_172_741, owned_by: 'system' },
  { id: 'meta-llama/Llama-3.3-70B', object: 'model', owned_by: 'meta' },
  { id: 'bare', object: 'model', owned_by: 'openai' },
]

const requests: string[] = []
const upstream = createServer((request, response) => {
  request.resume()
  requests.push(`${request.method} ${request.url}`)
  json(response, 200, { object: 'list', data: LISTED })
})
let upstreamUrl: string
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  stack = await startStack(upstreamUrl)
  client = await stack.addClient('chooser')
  await ask('')
})

afterAll(async () => {
  await stack?.stop()
  upstream.closeAllConnections()
  upstream.close()
})

beforeEach(() => {
  requests.length = 0
})

function ask(path: string, { key = client.key, method = 'GET', url = stack.url } = {}): Promise<Response> {
  return fetch(`${url}/v1/models${path}`, { method, headers: { authorization: `Bearer ${key}` } })
}

test("the upstream's list is shown with exactly the contract's fields, without asking the upstream", async () => {
  const answer = await ask('')
  expect([answer.status, await answer.json()]).toEqual([200, { object: 'list', data: SHOWN }])
  for (let n = 0; n < 10; n += 1) await (await ask('?limit=5')).arrayBuffer()
  expect(requests).toEqual([])
})

test.each([
  ['/gpt-4o-mini', SHOWN[0]],
  ['/meta-llama/Llama-3.3-70B', SHOWN[1]],
  ['/meta-llama%2FLlama-3.3-70B', SHOWN[1]],
  ['/bare?x=1', SHOWN[2]],
])('GET /v1/models%s gives one model', async (path, model) => {
  const answer = await ask(path)
  expect([answer.status, await answer.json()]).toEqual([200, model])
  expect(requests).toEqual([])
})

test.each([
  '/unknown',
  '/GPT-4o-mini',
  '/__proto__',
  `/${'x'.repeat(4_000)}`,
])('%s is not a model: 404', async (path) => {
  const answer = await ask(path)
  expect([answer.status, await answer.json()]).toMatchObject([
    404,
    { error: { type: 'invalid_request_error', code: 'not_found' } },
  ])
  expect(requests).toEqual([])
})

test.each(['/', '//', '/%2e'])('%s is the list, however it is written', async (path) => {
  const answer = await ask(path)
  expect([answer.status, await answer.json()]).toEqual([200, { object: 'list', data: SHOWN }])
  expect(requests).toEqual([])
})

test('a key sees the models it may use and no others', async () => {
  const { key } = await stack.addClient('restricted', { models: ['meta-llama/*', 'bare'] })
  expect(await (await ask('', { key })).json()).toEqual({ object: 'list', data: SHOWN.slice(1) })
  expect((await ask('/bare', { key })).status).toBe(200)
  expect((await ask('/gpt-4o-mini', { key })).status).toBe(404)
})

test('HEAD answers as GET does, without the body', async () => {
  for (const [path, status] of [
    ['', 200],
    ['/bare', 200],
    ['/unknown', 404],
  ] as const) {
    const answer = await ask(path, { method: 'HEAD' })
    expect([answer.status, await answer.text()]).toEqual([status, ''])
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(20)
  }
  expect(requests).toEqual([])
})

test('the gateway’s own operations are not counted, other methods on them go upstream and are', async () => {
  const before = (await stack.usage(client)).requests
  await (await ask('')).arrayBuffer()
  for (const method of ['POST', 'PATCH', 'PUT']) {
    await (await ask('/ft:gpt-4o-mini:x', { method })).arrayBuffer()
    await (await ask('', { method })).arrayBuffer()
  }
  await stack.usageOf(client, before + 6)
  expect(requests).toEqual([
    'POST /v1/models/ft:gpt-4o-mini:x',
    'POST /v1/models',
    'PATCH /v1/models/ft:gpt-4o-mini:x',
    'PATCH /v1/models',
    'PUT /v1/models/ft:gpt-4o-mini:x',
    'PUT /v1/models',
  ])
})

test('without a key nothing is shown', async () => {
  expect((await fetch(`${stack.url}/v1/models`)).status).toBe(401)
})

test('an upstream that is away: an empty list within three seconds, and at once from then on', async () => {
  const hanging = createServer(() => {})
  await once(hanging.listen(0, '127.0.0.1'), 'listening')
  const away = await startStack(`http://127.0.0.1:${(hanging.address() as AddressInfo).port}`)
  const { key } = await away.addClient('waiting')
  const startedAt = performance.now()
  const answer = await ask('', { key, url: away.url })
  expect([answer.status, await answer.json()]).toEqual([200, { object: 'list', data: [] }])
  expect(performance.now() - startedAt).toBeLessThan(3_500 * busyness())
  const again = performance.now()
  await ask('', { key, url: away.url })
  expect(performance.now() - again).toBeLessThan(500 * busyness())
  hanging.closeAllConnections()
  hanging.close()
  await away.stop()
})

test('a list in the file is shown as it is; an upstream without one shows the exact names it has there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-models-'))
  const file = join(folder, 'tallygate.yaml')
  const shown = async (text: string) => {
    await writeFile(file, text)
    const configured = await startStack('', { env: { TALLYGATE_CONFIG: file } })
    const { key } = await configured.addClient('configured')
    const { data } = Object(await (await ask('', { key, url: configured.url })).json())
    await configured.stop()
    return data
  }
  const fixed = `upstreams:\n  - { name: a, url: '${upstreamUrl}', provider: openai }\nmodels:\n  - { id: our-model, owned_by: us }\n`
  expect(await shown(fixed)).toEqual([{ id: 'our-model', object: 'model', owned_by: 'us' }])
  const names = `upstreams:\n  - { name: a, url: 'http://127.0.0.1:1', provider: xai, models: [grok-4, 'grok-3*'] }\n`
  expect(await shown(names)).toEqual([{ id: 'grok-4', object: 'model', owned_by: 'xai' }])
  await rm(folder, { recursive: true })
})

test('libraries of Anthropic and Google get the list and one model in their own fields', async () => {
  const asAnthropic = { 'anthropic-version': '2023-06-01', 'x-api-key': client.key }
  const asGoogle = { 'x-goog-api-key': client.key }
  const get = async (path: string, headers: Record<string, string>) =>
    Object(await (await fetch(stack.url + path, { headers })).json())
  const first = {
    type: 'model',
    id: 'gpt-4o-mini',
    display_name: 'gpt-4o-mini',
    created_at: '2024-07-16T23:32:21.000Z',
  }
  const list = await get('/v1/models', asAnthropic)
  expect(list).toMatchObject({ has_more: false, first_id: 'gpt-4o-mini', last_id: 'bare' })
  expect(list.data[0]).toEqual(first)
  expect(await get('/v1/models/gpt-4o-mini', asAnthropic)).toEqual(first)
  const google = { name: 'models/gpt-4o-mini', displayName: 'gpt-4o-mini' }
  for (const [path, headers] of [
    ['/v1/models', asGoogle],
    ['/v1beta/models?pageSize=1', asGoogle],
    ['/v1beta/models/', { authorization: `Bearer ${client.key}` }],
  ] as const) {
    expect((await get(path, headers)).models[0]).toEqual(google)
  }
  expect(await get('/v1beta/models/gpt-4o-mini', asGoogle)).toEqual(google)
  expect((await get('/v1beta/models/none', asGoogle)).error).toMatchObject({ code: 404, status: 'NOT_FOUND' })
  expect(requests).toEqual([])
})

test('what Google and Anthropic themselves say of a model is shown to their libraries', async () => {
  const rows = {
    google: { name: 'models/gemini-x', displayName: 'Gemini X', inputTokenLimit: 1_000 },
    anthropic: {
      type: 'model',
      id: 'claude-x',
      display_name: 'Claude X',
      created_at: '2026-01-02T00:00:00Z',
    },
  }
  const google = toShown(rows.google)
  const anthropic = toShown(rows.anthropic)
  expect(modelShapeOf('/v1beta/models', {}).one(google)).toEqual(rows.google)
  expect(modelShapeOf('/v1/models', { 'anthropic-version': 'x' }).one(anthropic)).toEqual(rows.anthropic)
  expect(modelShapeOf('/v1/models', {}).one(google)).toEqual({
    id: 'gemini-x',
    object: 'model',
    owned_by: 'gemini',
  })
})

function toShown(row: object): ShownModel {
  const [model] = parseList({ models: [row] }, 'gemini').models
  if (model === undefined) throw new Error('no model')
  return model
}

test.each(['/v1/models', '/v1/models/bare', '/v1/usage'])('no cache keeps an answer to %s', async (path) => {
  const { headers, status } = await fetch(stack.url + path, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  expect(status).toBe(200)
  expect(headers.get('cache-control')).toBe('no-store')
})
