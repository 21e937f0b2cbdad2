import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, loadGatewayConfig } from '../../../src/config/config.ts'
import { periodOf } from '../../../src/domain/period.ts'
import { readReport } from '../../../src/usage/report/read-report.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
/** Streams that are open at the server. */
const open: ServerResponse[] = []

const SSE = { 'content-type': 'text/event-stream' }
const event = (message: object) =>
  `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const PROGRESS = { method: 'notifications/progress', params: { progress: 1 } }

beforeAll(async () => {
  upstream = await startUpstream((request, response) => {
    if (request.method === 'DELETE') return void response.writeHead(204).end()
    if (request.method === 'GET') {
      open.push(response.writeHead(200, SSE))
      response.write(event(PROGRESS))
      return
    }
    const { id, method, params } = JSON.parse(request.body.toString())
    if (method !== 'tools/call') return json(response, 200, { jsonrpc: '2.0', id, result: { tools: [] } })
    const answers: Readonly<Record<string, object>> = {
      search: { result: { content: [{ type: 'text', text: 'found' }] } },
      broken: { result: { content: [{ type: 'text', text: 'it broke' }], isError: true } },
      unknown: { error: { code: -32602, message: 'Unknown tool' } },
    }
    response.writeHead(200, SSE).write(event(PROGRESS))
    if (params.name === 'slow') open.push(response)
    else response.end(event({ id, ...answers[params.name] }))
  })
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-tools-'))
  const file = join(folder, 'tallygate.yaml')
  writeFileSync(
    file,
    `upstreams:
  - { name: web, url: '${upstream.url}', provider: mcp, path_prefix: /mcp/web, api_key_env: MCP_KEY }
prices:
  - { model: 'web/search', per_request: '0.005' }
  - { model: 'web/slow', per_request: '0.01' }
  - { model: 'web/broken', per_request: '0.002' }
`,
  )
  const env = { UPSTREAM_PROVIDER: 'openai', TALLYGATE_CONFIG: file, MCP_KEY: 'of-the-server' }
  stack = await startStack(upstream.url, { env })
  client = await stack.addClient('agent')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function ask(init: RequestInit): Promise<Response> {
  return await fetch(`${stack.url}/mcp/web/mcp`, {
    ...init,
    headers: { authorization: `Bearer ${client.key}`, accept: 'application/json, text/event-stream' },
  })
}

async function call(name: string): Promise<string> {
  const params = { name, arguments: {} }
  return await (
    await ask({ method: 'POST', body: JSON.stringify({ id: 1, method: 'tools/call', params }) })
  ).text()
}

const lengthOfCall = (name: string) =>
  JSON.stringify({ id: 1, method: 'tools/call', params: { name, arguments: {} } }).length

test('calls of tools are counted by server and tool, at their price, and what else a session says costs nothing', async () => {
  await (await ask({ method: 'POST', body: JSON.stringify({ id: 0, method: 'tools/list' }) })).text()
  const found = await call('search')
  expect(found).toContain('found')
  await call('search')
  await call('broken')
  await call('unknown')
  await call('free')
  expect((await ask({ method: 'DELETE' })).status).toBe(204)
  const { cost_usd } = await stack.usageOf(client, 7)
  expect(cost_usd).toBe(0.012)
  const calls = (await stack.calls(client)).map(
    ({ upstream: of, model, cost_pico: pico, failed_in_body: failed, unpriced_reason: why }) => [
      ...[of, model, Number(pico) / 1e9],
      ...[failed, why],
    ],
  )
  expect(calls).toEqual([
    ['web', '(none)', 0, false, null],
    ['web', 'web/search', 5, false, null],
    ['web', 'web/search', 5, false, null],
    ['web', 'web/broken', 2, true, null],
    ['web', '(unknown)', 0, true, null],
    ['web', 'web/free', 0, false, null],
    ['web', '(none)', 0, false, null],
  ])
  const counted = await stack.calls(client)
  expect(counted.map(({ request_bytes: asked }) => asked)).toEqual([
    null,
    ...['search', 'search', 'broken', 'unknown', 'free'].map((name) => `${lengthOfCall(name)}`),
    null,
  ])
  expect(counted.map(({ answer_bytes: answered }) => answered).slice(0, 3)).toEqual([
    null,
    `${found.length}`,
    `${found.length}`,
  ])
  const answer = await readReport(
    stack.pool,
    {
      // Midnight may pass.
      period: periodOf(2, Date.now()),
      filters: [{ group: 'model', ids: ['web/search'] }],
      ...{ before: null, groupBy: [], interval: null, top: 1, sort: 'cost', order: 'desc' },
      ...{ search: null, limit: 1, after: null },
    },
    () => false,
  )
  expect(answer.kind === 'read' && answer.report.totals.now).toMatchObject({
    requests: 2n,
    requestBytes: BigInt(2 * lengthOfCall('search')),
    answerBytes: BigInt(2 * found.length),
  })
  expect(upstream.requests.every(({ headers }) => headers.authorization === 'Bearer of-the-server')).toBe(
    true,
  )
})

test('a stream of the server ends with its client, and a tool that a client left is read on', async () => {
  const listening = new AbortController()
  const stream = await ask({ method: 'GET', signal: listening.signal })
  await stream.body?.getReader().read()
  const [streamed] = open
  if (streamed === undefined) throw new Error('no stream')
  const ended = once(streamed, 'close')
  listening.abort()
  await ended
  const left = new AbortController()
  const params = { name: 'slow', arguments: {} }
  const body = JSON.stringify({ id: 9, method: 'tools/call', params })
  const answer = await ask({ method: 'POST', body, signal: left.signal })
  await answer.body?.getReader().read()
  left.abort()
  await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
  open[1]?.end(event({ id: 9, result: { content: [] } }))
  await stack.usageOf(client, 9)
  expect((await stack.calls(client)).slice(-2)).toMatchObject([
    { model: '(none)', outcome: 'client_aborted', method: 'GET' },
    { model: 'web/slow', outcome: 'client_aborted', failed_in_body: false, unpriced_reason: null },
  ])
})

test('a server of tools is named by the path alone', () => {
  const file = join(folder, 'wrong.yaml')
  writeFileSync(file, `upstreams:\n  - { name: web, url: 'http://a', provider: mcp }\n`)
  const load = () => loadGatewayConfig({ ...stack.env, TALLYGATE_CONFIG: file })
  expect(load).toThrow(ConfigError)
  expect(load).toThrow('upstream web of provider mcp needs a path_prefix')
})
