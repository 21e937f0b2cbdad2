import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import type { RouteConfig } from '../../../src/config/yaml/routes.ts'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import type { FetchedCredential } from '../../../src/gateway/credentials/fetched-credential.ts'
import { GatewayError } from '../../../src/http/errors.ts'
import { eventMessage } from '../../fixtures/event-messages.ts'
import type { UpstreamHandler } from '../../support/upstream.ts'
import { openTwoDoors, type ProvenUpstream, type TwoDoors } from '../admission/two-doors.ts'
import { limitsOf, MemoryLimiter } from '../limits/memory-limiter.ts'
import { exchange } from '../raw-http.ts'

let doors: TwoDoors

afterEach(() => doors.close())

const TOKEN = ['authorization', 'Bearer the token'] as const

function credentialThat(usable: () => boolean | Promise<boolean>): FetchedCredential {
  return {
    kind: 'google',
    settings: '',
    header: TOKEN,
    sign: null,
    usable,
    renew() {},
    state: () => ({ endsAtMs: null, isUsable: true, problem: null }),
    stop() {},
  }
}

/** The targets of a route for the name `gpt-4o`, called as their upstreams. */
function routeTo(...names: readonly string[]): RouteConfig {
  return {
    model: 'gpt-4o',
    to: names.map((upstream) => ({ upstream, model: `m-${upstream}`, weight: 1 })),
    retryOn: ['connect', 'timeout', '408', '429', '5xx'],
    attempts: 3,
    firstByteTimeoutMs: 60_000,
    sticky: null,
    order: 'listed',
  }
}

const ROOT = { pathPrefix: null, provider: 'openai' } as const

async function open(
  proven: readonly ProvenUpstream[],
  route = routeTo(...proven.map(({ name }) => name)),
  limiter: MemoryLimiter | null = null,
): Promise<void> {
  const limits = limiter === null ? null : limitsOf(limiter)
  doors = await openTwoDoors(buildStages(), {}, limits, proven, [route])
}

const ONE = { ...ROOT, name: 'one' }
const TWO = { ...ROOT, name: 'two' }

async function post(target = '/gw/v1/chat/completions', more: object = {}) {
  const body = JSON.stringify({ model: 'gpt-4o', max_tokens: 5, messages: [], ...more })
  const answer = await doors.knock('http', { target, body })
  return { status: answer.status, text: answer.body.toString('latin1') }
}

/** The names by which the upstream was asked, in order. */
function asked(): readonly unknown[] {
  return doors.upstream.requests.map(({ body, url }) => JSON.parse(body.toString()).model ?? url)
}

/** Only what `first` answers is for the first target. */
function answering(first: UpstreamHandler): void {
  doors.upstream.answer((request, response) => {
    if (/m-one/.test(`${request.url}${request.body}`)) return first(request, response)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
  })
}

test('a target without a valid credential is left out, whatever its turn', async () => {
  await open([{ ...ONE, fetched: credentialThat(() => false) }, TWO])
  expect((await post()).status).toBe(200)
  expect(asked()).toEqual(['m-two'])
})

test('a credential that is being fetched is awaited where no other target has one', async () => {
  const coming = Promise.withResolvers<boolean>()
  await open([
    { ...ONE, fetched: credentialThat(() => coming.promise) },
    { ...TWO, fetched: credentialThat(() => false) },
  ])
  const answer = post()
  coming.resolve(true)
  expect((await answer).status).toBe(200)
  expect(asked()).toEqual(['m-one'])
})

test('a call is refused only where no target has a credential, and is not counted', async () => {
  await open([
    { ...ONE, fetched: credentialThat(() => false) },
    { ...TWO, fetched: credentialThat(() => Promise.resolve(false)) },
  ])
  expect((await post()).status).toBe(502)
  expect([asked(), doors.records.size]).toEqual([[], 0])
})

test('a credential that ends between two stages is not the end of the call', async () => {
  const ended: FetchedCredential = {
    ...credentialThat(() => true),
    kind: 'aws',
    header: null,
    sign: () => {
      throw new GatewayError('upstream_credential_missing')
    },
  }
  await open([{ ...ONE, fetched: ended }, TWO])
  expect((await post()).status).toBe(200)
  expect(asked()).toEqual(['m-two'])
})

test.each([
  '/gw/openai/deployments/expensive/chat/completions',
  '/gw/openai/deployments/expensive/chat/completions?api-version=2024-10-21',
])('a path that names a model itself is not led by the name in its body: %s', async (target) => {
  // Another upstream has models of its own, so that bodies decide where calls go.
  await open(
    [
      { ...ONE, provider: 'azure-openai' },
      { ...TWO, models: ['other*'] },
    ],
    routeTo('one'),
  )
  const body = JSON.stringify({ model: 'gpt-4o', messages: [] })
  const { status } = await doors.knock('http', { target, body, key: 'restricted' })
  expect([status, doors.upstream.requests.map(({ url }) => url)]).toEqual([expect.any(Number), []])
  expect(
    (await doors.knock('http', { target: target.replace('expensive', 'gpt-4o'), body, key: 'restricted' }))
      .status,
  ).toBe(200)
  expect(asked()).toHaveLength(1)
})

const OVERLOADED = 'data: {"error":{"type":"overloaded_error"}}\n\n'
const EXCEPTION = eventMessage(
  { ':exception-type': 'throttlingException', ':message-type': 'exception' },
  '{}',
)

test.each([
  [
    'a stream that is coded',
    { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' },
    gzipSync(OVERLOADED),
  ],
  ['a stream without an empty line', { 'content-type': 'text/event-stream' }, OVERLOADED.trim()],
  [
    'JSON',
    { 'content-type': 'application/json' },
    '{"error":{"code":502,"message":"Provider returned error"}}',
  ],
  ['lines of JSON', { 'content-type': 'application/x-ndjson' }, '{"error":"model runner has stopped"}\n'],
  ["AWS's event stream", { 'content-type': 'application/vnd.amazon.eventstream' }, EXCEPTION],
] as const)('a 200 that is an error as %s is not shown: another target is asked', async (_what, headers, body) => {
  await open([ONE, TWO])
  answering((_request, response) => {
    response.writeHead(200, headers).end(body)
  })
  expect(await post()).toEqual({ status: 200, text: '{}' })
  expect(asked()).toEqual(['m-one', 'm-two'])
  expect([...doors.records.values()]).toMatchObject([{ upstream: 'two', status: 200 }])
})

test('a 200 that is an error is shown where no other target is left', async () => {
  await open([ONE], { ...routeTo('one'), attempts: 2 })
  answering((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"error":{"code":502}}')
  })
  expect(await post()).toEqual({ status: 200, text: expect.stringContaining('{"error":{"code":502}}') })
  expect(asked()).toEqual(['m-one', 'm-one'])
})

test('an attempt that the journal does not take is not made, and the client gets a whole error', async () => {
  await open([ONE, TWO])
  answering((_request, response) => {
    response.writeHead(500, { 'content-type': 'text/plain' }).end('x'.repeat(300_000))
  })
  doors.journal = 'fills'
  const answer = await post()
  expect(answer).toEqual({ status: 502, text: expect.stringContaining('"error"') })
  expect(asked()).toEqual(['m-one'])
  expect([...doors.records.values()]).toMatchObject([{ upstream: 'one', outcome: 'upstream_error' }])
})

test('each attempt that may be billed is reserved, and none follows where budgets have no room', async () => {
  const limiter = new MemoryLimiter()
  await open([ONE, TWO], { ...routeTo('one', 'two'), attempts: 10, firstByteTimeoutMs: 200 }, limiter)
  doors.upstream.answer(() => {})
  limiter.budgetPico = 1_000n
  expect(
    (await post(undefined, { messages: [{ role: 'user', content: 'a word '.repeat(300) }] })).status,
  ).toBe(504)
  expect(asked()).toEqual(['m-one'])
  await expect.poll(() => limiter.reservedPico).toBe(0n)
})

test('reserved attempts are charged, each at its own price, and given back with the call', async () => {
  const limiter = new MemoryLimiter()
  await open([ONE, TWO], routeTo('one', 'two'), limiter)
  answering((_request, response) => void response.socket?.destroy())
  expect((await post()).status).toBe(200)
  const [settled] = limiter.settled
  expect(settled?.[1].map(({ model }) => model)).toContain('m-one')
  await expect.poll(() => limiter.reservedPico).toBe(0n)
})

const FORM = (sound: string) =>
  [
    '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\ngpt-4o\r\n',
    `--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n${sound}\r\n--b--\r\n`,
  ].join('')

test.each([
  ['that is held is sent again, byte for byte, to targets of its model name', 'x', [502, 200], 2],
  ['that is not held is sent once', 'x'.repeat(100_000), [502], 1],
] as const)('a form %s', async (_what, sound, statuses, times) => {
  const to = ['one', 'two', 'three'].map((upstream) => ({
    upstream,
    model: upstream === 'three' ? 'other' : 'gpt-4o',
    weight: 1,
  }))
  await open([ONE, TWO, { ...ROOT, name: 'three' }], { ...routeTo(), to })
  const left: number[] = [...statuses]
  doors.upstream.answer((_request, response) => {
    response.writeHead(left.shift() ?? 500, { 'content-type': 'application/json' }).end('{}')
  })
  const body = FORM(sound)
  const text = [
    'POST /gw/v1/audio/transcriptions HTTP/1.1',
    'Host: gateway.test',
    'Authorization: Bearer good',
    'Connection: close',
    'Content-Type: multipart/form-data; boundary=b',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
  expect((await exchange(doors.url, text)).status).toBe(statuses.at(-1))
  const { requests } = doors.upstream
  expect(requests.map((request) => request.body.toString() === body)).toEqual(Array(times).fill(true))
  expect(doors.records.get('good')).toMatchObject({
    upstream: times === 1 ? 'one' : 'two',
    requestedModel: 'gpt-4o',
  })
})

const ARN = 'arn:aws:bedrock:us-east-1:1:inference-profile/us.meta.llama3:0'

test.each([
  [
    'gemini',
    '/v1beta/models/gpt-4o:generateContent',
    ['/v1beta/models/m-one:generateContent', '/v1beta/models/m-two:generateContent'],
  ],
  [
    'bedrock',
    '/model/gpt-4o/converse',
    ['/model/m-one/converse', `/model/${encodeURIComponent(ARN)}/converse`],
  ],
] as const)("a name in a path of %s is each target's own, with its bytes untouched", async (provider, path, urls) => {
  const two = provider === 'bedrock' ? ARN : 'm-two'
  const to = [
    { upstream: 'one', model: 'm-one', weight: 1 },
    { upstream: 'two', model: two, weight: 1 },
  ]
  await open(
    [
      { ...ONE, provider },
      { ...TWO, provider },
    ],
    { ...routeTo(), to },
  )
  answering((_request, response) => void response.writeHead(503).end())
  const body = '{ "contents" : [] }'
  expect((await doors.knock('http', { target: `/gw${path}`, body })).status).toBe(200)
  const { requests } = doors.upstream
  expect(requests.map(({ url }) => url)).toEqual(urls)
  expect(requests.map((request) => request.body.toString())).toEqual([body, body])
  expect([...doors.records.values()]).toMatchObject([{ upstream: 'two', status: 200 }])
})

test('a session asks the target that its turn is, once, by its own name, and a list of models holds for the name', async () => {
  await open([{ ...ONE, fetched: credentialThat(() => false) }, TWO])
  doors.upstream.answer((_request, response) => void response.writeHead(503).end())
  const target = '/gw/v1/realtime?x=1&model=gpt-4o'
  expect((await doors.knock('websocket', { target, key: 'restricted' })).status).toBe(503)
  const other = target.replace('gpt-4o', 'm-two')
  expect((await doors.knock('websocket', { target: other, key: 'restricted' })).status).toBe(403)
  expect(doors.upstream.requests.map(({ url }) => url)).toEqual(['/v1/realtime?x=1&model=m-two'])
  expect([...doors.records.values()]).toMatchObject([{ upstream: 'two', status: 503 }])
})

test.each([
  'background',
  'b\\u0061ckground',
  '\\u0062ackground',
])('work behind its answer is not begun twice, however it is asked for: %s', async (name) => {
  await open([ONE, TWO])
  doors.upstream.answer((_request, response) => void response.writeHead(500).end())
  const body = `{"model":"gpt-4o","input":"x","${name}":true}`
  expect((await doors.knock('http', { target: '/gw/v1/responses', body })).status).toBe(500)
  expect(asked()).toEqual(['m-one'])
})

test("a credential of the gateway's that is refused leads to another target, and a client's own does not", async () => {
  for (const [more, status] of [
    [{ fetched: credentialThat(() => true) }, 200],
    [{ takesClients: true }, 401],
  ] as const) {
    await open([{ ...ONE, ...more }, TWO])
    answering((_request, response) => void response.writeHead(401).end('{}'))
    expect((await post()).status).toBe(status)
    expect(asked()).toEqual(status === 200 ? ['m-one', 'm-two'] : ['m-one'])
    await doors.close()
  }
  await open([{ ...ONE, fetched: credentialThat(() => true) }])
  answering((_request, response) => void response.writeHead(401).end('{}'))
  expect([(await post()).status, asked()]).toEqual([502, ['m-one']])
})
