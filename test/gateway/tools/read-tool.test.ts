import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { axesConfig, fileAxes } from '../../../src/config/yaml/axes.ts'
import { DEFAULT_ESTIMATES } from '../../../src/config/yaml/config-file.ts'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { CallEstimates } from '../../../src/gateway/expected-use/call-estimates.ts'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { parseOverrides } from '../../../src/pricing/overrides/price-overrides-parse.ts'
import { bundledEntries } from '../../../src/pricing/sources/catalog-bundle.ts'
import { openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'
import { limitsOf, MemoryLimiter } from '../limits/memory-limiter.ts'
import { exchange, requestText } from '../raw-http.ts'

const TARGET = '/gw/mcp/github/mcp'
const KEYS: Readonly<Record<string, readonly string[] | null>> = {
  any: null,
  issues: ['github/create_issue'],
  all: ['github/*'],
  chat: ['gpt-4o', 'create_issue', 'other/create_issue'],
}
const AXES = axesConfig(fileAxes.parse(parse('[{ name: run, from: [{ body: params._meta.run }] }]')))
const DOLLAR = 1_000_000_000_000n

let doors: TwoDoors
let limiter: MemoryLimiter

beforeAll(async () => {
  const { overrides } = parseOverrides([{ line: 1, model: 'github/create_*', per_request: '0.25' }], [])
  const entries = bundledEntries()
  const catalog = buildCatalog({ entries, overrides, markups: [], trustedUpstreams: [], pricesOf: new Map() })
  const estimates = new CallEstimates(() => catalog, DEFAULT_ESTIMATES)
  limiter = new MemoryLimiter()
  // As a hard budget does with what has no price.
  limiter.unpricedRefused = true
  const limits = { ...limitsOf(limiter), expectedUse: estimates.expectedUse.bind(estimates) }
  const github = { name: 'github', pathPrefix: '/mcp/github', provider: 'mcp' } as const
  doors = await openTwoDoors(buildStages(), { axes: AXES }, limits, [github], [], {
    findCaller(key) {
      const models = KEYS[key]
      if (models === undefined) return { kind: 'unknown' }
      const caller = { clientId: 'c', clientName: 'c', keyId: key, keyName: key, models }
      return { kind: 'active', caller }
    },
  })
  doors.upstream.answer((request, response) => {
    doors.reached.push(`${request.method} ${request.url}`)
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 'of-the-server' }
    response.writeHead(200, headers).end('{"jsonrpc":"2.0","id":1,"result":{}}')
  })
})

afterAll(() => doors.close())

beforeEach(() => {
  doors.reached.length = 0
  doors.upstream.requests.length = 0
  limiter.admitted.length = 0
})

function rpc(method: string, params?: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params === undefined ? {} : { params }) })
}

function call(tool: unknown, more: object = {}): string {
  return rpc('tools/call', { name: tool, arguments: {}, ...more })
}

async function send(body: string | undefined, key = 'any', headers: readonly string[] = []) {
  const request = { target: TARGET, key, headers, ...(body === undefined ? {} : { body }) }
  const answer = await doors.knock('http', request)
  return { ...answer, record: doors.records.get(key) }
}

test('a call of a tool is a call of the model `upstream/tool`, by limits, price and record', async () => {
  const { status, record } = await send(call('create_issue'))
  expect(status).toBe(200)
  expect(doors.reached).toEqual(['journal', 'POST /mcp'])
  const model = 'github/create_issue'
  expect(record).toMatchObject({ upstream: 'github', provider: 'mcp', requestedModel: model, model })
  expect(limiter.admitted).toMatchObject([{ model, estimatedPico: DOLLAR / 4n, estimatedTokens: 0 }])
})

test('a tool without a price costs nothing, so a hard budget lets it pass', async () => {
  expect((await send(call('list_issues'))).status).toBe(200)
  expect(limiter.admitted).toMatchObject([
    { model: 'github/list_issues', estimatedPico: 0n, estimatedTokens: 0 },
  ])
})

test.each([
  ['initialize', rpc('initialize', { name: 'create_issue', protocolVersion: '2025-11-25' })],
  ['tools/list', rpc('tools/list')],
  ['a ping', rpc('ping')],
  ['a notice', JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })],
  ['an answer to the server', JSON.stringify({ jsonrpc: '2.0', id: 7, result: { model: 'gpt-4o' } })],
  ['a resource', rpc('resources/read', { uri: 'file:///a', name: 'create_issue' })],
  ['a method in other letters', rpc('Tools/Call', { name: 'create_issue' })],
  ['a model at its top', JSON.stringify({ ...JSON.parse(rpc('ping')), model: 'gpt-4o' })],
])('%s passes with any list of models, and costs nothing', async (_what, body) => {
  const { status, record } = await send(body, 'chat')
  expect(status).toBe(200)
  expect(record).toMatchObject({ requestedModel: null, model: '(none)', costPico: '0' })
  expect(limiter.admitted).toMatchObject([{ model: null, estimatedPico: 0n, estimatedTokens: 0 }])
})

test('a stream of the server, and the end of a session, are free', async () => {
  expect((await send(undefined, 'chat')).record).toMatchObject({ method: 'GET', costPico: '0' })
})

test('a key with a list calls the tools on it, by their whole names', async () => {
  const statusOf = async (tool: string, key: string) => (await send(call(tool), key)).status
  expect(await statusOf('create_issue', 'issues')).toBe(200)
  expect(await statusOf('create_issue', 'all')).toBe(200)
  doors.reached.length = 0
  expect(await statusOf('create_issue', 'chat')).toBe(403)
  expect(await statusOf('delete_repository', 'issues')).toBe(403)
  const { body } = await send(call('create_issue'), 'chat')
  expect(JSON.parse(body.toString())).toMatchObject({
    jsonrpc: '2.0',
    error: { code: -32000, message: expect.stringContaining("'github/create_issue'") },
  })
  expect(doors.reached).toEqual([])
})

const LONG = 'x'.repeat(200_000)

describe('is refused before it goes upstream:', () => {
  test.each([
    ['a batch', `[${call('create_issue')}]`],
    ['an empty batch', '[]'],
    ['two messages in lines', `${rpc('ping')}\n${call('create_issue')}`],
    ['text', 'create_issue'],
    ['nothing', ''],
    ['two methods', '{"method":"ping","method":"tools/call","params":{"name":"create_issue"}}'],
    ['a method twice, in other letters', '{"method":"ping","Method":"tools/call","params":{"name":"a"}}'],
    ['a method twice, escaped', '{"method":"ping","\\u006dethod":"tools/call","params":{"name":"a"}}'],
    ['params twice', '{"method":"tools/call","params":{"name":"a"},"params":{"name":"b"}}'],
    ['params twice, in other letters', '{"method":"tools/call","params":{"name":"a"},"PARAMS":{"name":"b"}}'],
    ['params with a long s', '{"method":"tools/call","params":{"name":"a"},"param\\u017f":{"name":"b"}}'],
    ['a name twice', '{"method":"tools/call","params":{"name":"a","name":"b"}}'],
    ['a name twice, in other letters', '{"method":"tools/call","params":{"name":"a","Name":"b"}}'],
    [
      'a name twice, far behind',
      `{"method":"tools/call","params":{"name":"a","arguments":"${LONG}","name":"b"}}`,
    ],
    ['a method far behind', `{"method":"ping","params":{"a":"${LONG}"},"method":"tools/call"}`],
    ['no params', rpc('tools/call')],
    ['params by place', '{"method":"tools/call","params":["create_issue"]}'],
    ['no name', rpc('tools/call', {})],
    ['an empty name', call('')],
    ['a number as name', call(7)],
    ['a list as name', call(['create_issue'])],
    ['a name of kilobytes', call('a'.repeat(2_000))],
    ['a list as method', '{"method":["tools/call"],"params":{"name":"a"}}'],
    ['a member without an end', '{"method":"ping","params":{'],
  ])('%s', async (_what, body) => {
    const { status, body: said } = await send(body)
    expect([status, JSON.parse(said.toString())]).toMatchObject([
      400,
      { jsonrpc: '2.0', error: { code: -32000 } },
    ])
    expect(doors.reached).toEqual([])
  })
})

test.each([
  'PUT',
  'PATCH',
  'GET',
  'DELETE',
])('a body makes %s a POST, which calls its tool', async (method) => {
  const sent = (body: string, key: string) => {
    const headers = [`Authorization: Bearer ${key}`, `Content-Length: ${body.length}`]
    return exchange(doors.url, requestText(TARGET, headers, method, body))
  }
  expect((await sent(call('create_issue'), 'issues')).status).toBe(200)
  expect(doors.records.get('issues')).toMatchObject({ method, requestedModel: 'github/create_issue' })
  doors.reached.length = 0
  expect((await sent(call('delete_repository'), 'issues')).status).toBe(403)
  expect((await sent(`[${call('create_issue')}]`, 'any')).status).toBe(400)
  expect(doors.reached).toEqual([])
})

test('a long call is read whole, and goes upstream byte by byte', async () => {
  const body = JSON.stringify({
    params: { arguments: { a: LONG }, name: 'create_issue' },
    method: 'tools/call',
  })
  const { status, record } = await send(body, 'issues')
  expect([status, record?.requestedModel]).toEqual([200, 'github/create_issue'])
  expect(doors.upstream.requests[0]?.body.toString()).toBe(body)
})

test('arguments are the tool’s own, whatever they look like', async () => {
  const id = 'resp_0123456789abcdef0123456789abcdef'
  const more = { arguments: { previous_response_id: id, file_id: 'file-abcdefghijkl', model: 'gpt-5' } }
  expect((await send(call('create_issue', more), 'issues')).status).toBe(200)
})

test('a call has its values on axes, and sessions of the server pass, without a credential of the gateway', async () => {
  const { record, lines } = await send(call('create_issue', { _meta: { run: 'run-7' } }), 'any', [
    'mcp-session-id: of-the-client',
    'mcp-protocol-version: 2025-11-25',
    'mcp-name: another_tool',
  ])
  expect(record?.axes).toBe('run=run-7')
  expect(lines.map((line) => line.toLowerCase())).toContain('mcp-session-id: of-the-server')
  expect(doors.upstream.requests[0]?.headers).toMatchObject({
    'mcp-session-id': 'of-the-client',
    'mcp-protocol-version': '2025-11-25',
  })
  expect(doors.upstream.requests[0]?.headers.authorization).toBeUndefined()
})
