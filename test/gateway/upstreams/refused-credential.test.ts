import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { Server, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

const OWN_KEY = 'sk-operators-own-key-1234'
const SHOWN_PART = 'sk-op***1234'
const REFUSED = {
  type: 'upstream_error',
  code: 'upstream_credential_refused',
  message: expect.stringMatching(/gateway's own credential .* tell the operator/),
}

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let number = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-credential-'))
  upstream = await startUpstream()
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: keyed, url: '${upstream.url}', provider: openai, api_key_env: OWN_KEY }
  - { name: claude, url: '${upstream.url}', provider: anthropic, path_prefix: /claude, api_key_env: OWN_KEY }
  - { name: open, url: '${upstream.url}', provider: openai, path_prefix: /open }
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, OWN_KEY } })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true })
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`client ${number}`)
})

function answerWith(status: number, body: object | string, headers: Record<string, string> = {}): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  upstream.answer((_request, response: ServerResponse) => {
    response.writeHead(status, {
      'content-type': 'application/json',
      'www-authenticate': `Bearer error="${SHOWN_PART}"`,
      ...headers,
    })
    response.end(headers['content-encoding'] === 'gzip' ? gzipSync(text) : text)
  })
}

function ask(path = '/v1/chat/completions', headers: Record<string, string> = {}): Promise<Response> {
  return fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json', ...headers },
    body: '{"model":"gpt-4o-mini","messages":[]}',
  })
}

async function metric(cause: string): Promise<number> {
  const { port } = stack.gateway.adminAddress
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const line = text
    .split('\n')
    .find((one) => one.startsWith('tallygate_upstream_failures_total') && one.includes(`cause="${cause}"`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

const KEY_ERRORS: readonly (readonly [what: string, status: number, body: object | string])[] = [
  [
    'OpenAI',
    401,
    { error: { message: `Incorrect API key provided: ${SHOWN_PART}`, code: 'invalid_api_key' } },
  ],
  ['a 401 without a body', 401, ''],
  ['a 401 of HTML', 401, `<html>${SHOWN_PART}${'x'.repeat(40_000)}</html>`],
  ['Anthropic', 403, { type: 'error', error: { type: 'permission_error', message: 'not for you' } }],
  [
    'Google',
    400,
    {
      error: {
        code: 400,
        message: 'API key not valid. Please pass a valid API key.',
        status: 'INVALID_ARGUMENT',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
      },
    },
  ],
  ['AWS', 403, { message: 'Authentication failed: Please make sure your API Key is valid.' }],
  [
    'xAI',
    400,
    { code: 'Client specified an invalid argument', error: `Incorrect API key provided: ${SHOWN_PART}` },
  ],
  ['Cloudflare', 403, { success: false, errors: [{ code: 10_000, message: 'Authentication error' }] }],
]

test.each(
  KEY_ERRORS,
)("%s refuses the gateway's key: 502 about that, nothing of the answer passes, counted as an upstream error at no cost", async (_what, status, body) => {
  answerWith(status, body)
  const answer = await ask()
  const text = await answer.text()
  expect([answer.status, JSON.parse(text).error]).toEqual([502, { ...REFUSED, param: null }])
  expect(text + JSON.stringify([...answer.headers])).not.toContain(SHOWN_PART)
  expect(answer.headers.get('x-tallygate-call-id')).toMatch(/^[0-9a-f-]{36}$/)
  expect(await stack.usageOf(client, 1)).toMatchObject({ cost_usd: 0, total_tokens: 0 })
  expect(await stack.calls(client)).toMatchObject([{ status, outcome: 'upstream_error', cost_pico: '0' }])
})

test.each([
  ['a compressed one', 403, { error: { message: `Incorrect API key provided: ${SHOWN_PART}` } }],
])('%s is read too', async (_what, status, body) => {
  answerWith(status, body, { 'content-encoding': 'gzip' })
  const answer = await ask('/v1/whatever', { 'accept-encoding': 'gzip' })
  expect([answer.status, Object(await answer.json()).error.code]).toEqual([
    502,
    'upstream_credential_refused',
  ])
})

test.each([
  [403, { error: { message: 'Country, region, or territory not supported', code: 'unsupported_country' } }],
  [
    400,
    { error: { message: "Invalid value for 'model': incorrect api key provided", code: 'invalid_value' } },
  ],
  [400, { error: { message: 'x'.repeat(100_000), code: 'invalid_value' } }],
  [404, { error: { message: 'api key' } }],
])('a %s about something else is the client’s, byte for byte', async (status, body) => {
  answerWith(status, body)
  const answer = await ask()
  expect([answer.status, await answer.text()]).toEqual([status, JSON.stringify(body)])
  expect(await stack.usageOf(client, 1)).toMatchObject({ cost_usd: 0 })
  expect(await stack.calls(client)).toMatchObject([{ status, outcome: 'complete' }])
})

test('without a credential of ours the 401 is the client’s', async () => {
  const body = { error: { message: 'Who are you?' } }
  answerWith(401, body)
  const answer = await ask('/open/v1/chat/completions')
  expect([answer.status, await answer.json()]).toEqual([401, body])
  expect(answer.headers.get('www-authenticate')).toContain('Bearer')
})

test('on Anthropic’s paths the sentence has Anthropic’s shape', async () => {
  answerWith(401, { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } })
  const answer = await ask('/claude/v1/messages')
  expect([answer.status, await answer.json()]).toEqual([
    502,
    { type: 'error', error: { type: 'upstream_error', message: REFUSED.message } },
  ])
})

test('a handshake that is refused with 401 is refused with 502, and counted once', async () => {
  const onUpgrade: Parameters<Server['on']>[1] = (_request, socket) =>
    socket.end(`HTTP/1.1 401 Unauthorized\r\nContent-Length: ${SHOWN_PART.length}\r\n\r\n${SHOWN_PART}`)
  upstream.server.on('upgrade', onUpgrade)
  const webSocket = new WebSocket(`${stack.url.replace('http', 'ws')}/v1/realtime?model=gpt-realtime`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  webSocket.on('error', () => {})
  const [, answer] = await once(webSocket, 'unexpected-response')
  const body = (await answer.toArray()).join('')
  upstream.server.off('upgrade', onUpgrade)
  expect([answer.statusCode, JSON.parse(body).error.code]).toEqual([502, 'upstream_credential_refused'])
  expect(body).not.toContain(SHOWN_PART)
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([{ status: 401, outcome: 'upstream_error' }])
})

test('failures at upstreams are counted by cause', async () => {
  const before = [
    await metric('credential_refused'),
    await metric('rate_limited'),
    await metric('server_error'),
  ]
  answerWith(401, {})
  await (await ask()).text()
  answerWith(429, {})
  await (await ask()).text()
  upstream.answer((_request, response) => json(response, 503, {}))
  await (await ask()).text()
  const after = [
    await metric('credential_refused'),
    await metric('rate_limited'),
    await metric('server_error'),
  ]
  expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([1, 1, 1])
})
