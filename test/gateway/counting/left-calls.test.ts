import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { event, json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { dial, exchange, requestText } from '../raw-http.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let number = 0
/** The upstream's side of calls that it has not answered, in the order in which they came. */
let waiting: ServerResponse[] = []

const PROVIDERS = ['anthropic', 'gemini']

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-left-'))
  upstream = await startUpstream()
  const others = PROVIDERS.map(
    (name) => `  - { name: ${name}, url: '${upstream.url}', provider: ${name}, path_prefix: /${name} }\n`,
  )
  const config = join(folder, 'upstreams.yaml')
  await writeFile(
    config,
    `upstreams:\n  - { name: openai, url: '${upstream.url}', provider: openai, models: ['*'] }\n${others.join('')}`,
  )
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: config } })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`left ${number}`)
  waiting = []
  upstream.answer((_request, response) => {
    waiting.push(response)
  })
})

const SSE = { 'content-type': 'text/event-stream' }
const user = (content: unknown) => [{ role: 'user', content }]

/** One way in which providers write a stream: its text, and its end with the usage. */
interface Format {
  readonly path: string
  readonly text: (text: string) => string
  readonly end: (input: number, output: number) => string
}

const named = (name: string, fields: object) =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...fields })}\n\n`

const CHAT: Format = {
  path: '/v1/chat/completions',
  text: (content) => event({ model: 'gpt-4o', choices: [{ index: 0, delta: { content } }] }),
  end: (input, output) =>
    event({ model: 'gpt-4o', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
    event({
      model: 'gpt-4o',
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    }),
}
const RESPONSES: Format = {
  path: '/v1/responses',
  text: (delta) => named('response.output_text.delta', { delta, item_id: 'msg_1' }),
  end: (input, output) =>
    named('response.completed', {
      response: {
        id: 'resp_1',
        model: 'gpt-4.1-2025-04-14',
        status: 'completed',
        usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
      },
    }),
}
const CLAUDE: Format = {
  path: '/anthropic/v1/messages',
  text: (text) =>
    named('message_start', {
      message: { id: 'msg_1', model: 'claude-sonnet-4-5', usage: { input_tokens: 2_400, output_tokens: 1 } },
    }) + named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  end: (input, output) =>
    named('message_delta', {
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: input, output_tokens: output, server_tool_use: { web_search_requests: 3 } },
    }) + named('message_stop', {}),
}

const SEARCH = { tools: [{ type: 'web_search' }] }
const CLAUDE_SEARCH = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }
const PICTURES = Array.from({ length: 10 }, (_, place) => ({
  type: 'image_url',
  image_url: { url: `https://a.test/${place}.png` },
}))

const ORDERS: readonly [name: string, Format, request: object, input: number, output: number][] = [
  ['a web search of gpt-4.1', RESPONSES, { model: 'gpt-4.1', input: 'hi', ...SEARCH }, 30_000, 60],
  [
    'an earlier turn of gpt-4.1',
    RESPONSES,
    { model: 'gpt-4.1', input: 'hi', previous_response_id: 'resp_0' },
    30_000,
    60,
  ],
  [
    'a file by URL for gpt-4.1',
    RESPONSES,
    { model: 'gpt-4.1', input: user([{ type: 'input_file', file_url: 'https://a.test/b.pdf' }]) },
    30_000,
    60,
  ],
  [
    'web searches of Claude',
    CLAUDE,
    { model: 'claude-sonnet-4-5', max_tokens: 1_000, messages: user('hi'), ...CLAUDE_SEARCH },
    45_000,
    300,
  ],
  [
    'a file by id for gpt-4o',
    CHAT,
    { model: 'gpt-4o', messages: user([{ type: 'file', file: { file_id: 'file-1234567' } }]) },
    25_000,
    25,
  ],
  ['ten pictures by URL for gpt-4o', CHAT, { model: 'gpt-4o', messages: user(PICTURES) }, 25_000, 25],
  [
    'a prediction of gpt-4o, most of it rejected',
    CHAT,
    { model: 'gpt-4o', messages: user('hi'), prediction: { type: 'content', content: 'a' } },
    10_000,
    10_025,
  ],
]

/** Sends a call and gives its connection, once the upstream has it. */
async function send(path: string, body: object): Promise<{ socket: Socket; answer: ServerResponse }> {
  const text = JSON.stringify(body)
  const socket = dial(stack.url)
  const place = waiting.length
  socket.write(requestText(path, headersFor(client, text), 'POST', text))
  await expect.poll(() => waiting.length).toBeGreaterThan(place)
  const answer = waiting[place]
  if (answer === undefined) throw new RangeError('no answer')
  return { socket, answer }
}

function headersFor({ key }: TestClient, text: string): string[] {
  return [
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ]
}

/** Reads until `text` has come, and hangs up. */
async function leaveAt(socket: Socket, text: string): Promise<void> {
  let seen = ''
  for await (const chunk of socket) {
    seen += chunk
    if (seen.includes(text)) break
  }
  socket.destroy()
}

async function goingOn(calls: number): Promise<void> {
  await expect.poll(() => stack.gateway.unattendedCalls()).toBe(calls)
}

async function record(): Promise<Record<string, unknown> | undefined> {
  await stack.usageOf(client, 1)
  return (await stack.calls(client))[0]
}

test.each(
  ORDERS,
)('%s is charged as it was, although its client left with all of the text', async (_name, format, request, input, output) => {
  const { socket, answer } = await send(format.path, { ...request, stream: true })
  answer.writeHead(200, SSE)
  answer.write(format.text('All of the answer. END'))
  await leaveAt(socket, 'END')
  await goingOn(1)
  answer.end(format.end(input, output))
  expect(await record()).toMatchObject({
    outcome: 'client_aborted',
    usage_source: 'reported',
    input_tokens: `${input}`,
    output_tokens: `${output}`,
  })
})

test.each<[name: string, path: string, request: object, answered: object, input: number]>([
  [
    'gpt-4o-mini',
    CHAT.path,
    { model: 'gpt-4o-mini', messages: user('hi') },
    {
      object: 'chat.completion',
      model: 'gpt-4o-mini',
      usage: { prompt_tokens: 1_000, completion_tokens: 4_000, total_tokens: 5_000 },
    },
    1_000,
  ],
  [
    'claude-opus-4-1',
    CLAUDE.path,
    { model: 'claude-opus-4-1', max_tokens: 4_000, messages: user('hi') },
    { type: 'message', model: 'claude-opus-4-1', usage: { input_tokens: 1_000, output_tokens: 4_000 } },
    1_000,
  ],
  [
    'gpt-4.1 that searches',
    RESPONSES.path,
    { model: 'gpt-4.1', input: 'hi', ...SEARCH },
    {
      object: 'response',
      id: 'resp_1',
      model: 'gpt-4.1',
      status: 'completed',
      usage: { input_tokens: 30_000, output_tokens: 4_000, total_tokens: 34_000 },
    },
    30_000,
  ],
])('an answer of %s that does not stream is charged although its client left before it', async (_name, path, request, answered, input) => {
  const { socket, answer } = await send(path, request)
  socket.destroy()
  await goingOn(1)
  json(answer, 200, answered)
  expect(await record()).toMatchObject({
    outcome: 'client_aborted',
    usage_source: 'reported',
    input_tokens: `${input}`,
    output_tokens: '4000',
  })
})

test('what its upstream breaks off that was read on is booked as limits expected it, not as what was seen', async () => {
  const request = { model: 'gpt-4.1', input: 'hi', stream: true, max_output_tokens: 3_000, ...SEARCH }
  const { socket, answer } = await send(RESPONSES.path, request)
  answer.writeHead(200, SSE)
  answer.write(RESPONSES.text('Some words. END'))
  await leaveAt(socket, 'END')
  await goingOn(1)
  answer.destroy()
  const row = await record()
  expect(row).toMatchObject({ outcome: 'client_aborted', usage_source: 'estimated', output_tokens: '3000' })
  expect(Number(row?.input_tokens)).toBeGreaterThanOrEqual(JSON.stringify(request).length / 2)
})

test('a hang-up on an unknown path before its answer has no cost, not a cost of 0', async () => {
  const { socket, answer } = await send('/v1/a-path-to-come', { model: 'gpt-4o-mini', messages: [] })
  socket.destroy()
  await goingOn(1)
  answer.destroy()
  expect(await record()).toMatchObject({
    outcome: 'client_aborted',
    status: null,
    cost_pico: null,
    unpriced_reason: 'no_reader',
  })
})

test('a fetch that its client left and its upstream broke off used nothing', async () => {
  const stored = {
    object: 'response',
    id: `resp_${client.id}`,
    model: 'gpt-4.1',
    status: 'completed',
    usage: { input_tokens: 10, output_tokens: 20, total_tokens: 30 },
  }
  const made = post(RESPONSES.path, { model: 'gpt-4.1', input: 'hi' })
  await expect.poll(() => waiting.length).toBe(1)
  json(waiting[0] as ServerResponse, 200, stored)
  expect((await made).status).toBe(200)
  const socket = dial(stack.url)
  socket.write(requestText(`${RESPONSES.path}/${stored.id}`, [`Authorization: Bearer ${client.key}`]))
  await expect.poll(() => waiting.length).toBe(2)
  waiting[1]?.writeHead(200, { 'content-type': 'application/json' }).write('{"id":')
  await leaveAt(socket, '{"id":')
  await goingOn(1)
  waiting[1]?.destroy()
  await stack.usageOf(client, 2)
  // What it would have shown is the use of the call that made it.
  expect((await stack.calls(client))[1]).toMatchObject({
    outcome: 'client_aborted',
    usage_source: 'none',
    cost_pico: '0',
    input_tokens: null,
    output_tokens: null,
  })
})

async function budget(amount: bigint): Promise<void> {
  const scope = { clientId: client.id, keyId: null, model: null }
  await setLimits(stack.pool, scope, [{ kind: 'budget', per: 'day', isSoft: false, amount }], 'test')
  const listed = async () => (await stack.usage(client, '?include=limits')).limits?.length
  await expect.poll(listed).toBe(1)
}

function post(path: string, body: object, who = client): Promise<Response> {
  return fetch(`${stack.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${who.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

test('sixty searches that are left with all of their text spend a hard budget once', async () => {
  await budget(500_000_000_000n)
  const request = { model: 'gpt-4.1', input: 'hi', stream: true, max_output_tokens: 100, ...SEARCH }
  let served = 0
  for (let call = 0; call < 60; call += 1) {
    const text = JSON.stringify(request)
    const socket = dial(stack.url)
    socket.write(requestText(RESPONSES.path, headersFor(client, text), 'POST', text))
    const place = served
    const refused = once(socket, 'data')
    const isServed = await Promise.race([
      expect
        .poll(() => waiting.length)
        .toBeGreaterThan(place)
        .then(() => true),
      refused.then(() => false),
    ])
    if (!isServed) {
      socket.destroy()
      break
    }
    served += 1
    waiting[place]?.writeHead(200, SSE).write(RESPONSES.text('END'))
    await leaveAt(socket, 'END')
    await goingOn(1)
    waiting[place]?.end(RESPONSES.end(30_000, 60))
    await goingOn(0)
  }
  // Each costs 0.0605 USD: what was left for the last one may be less.
  expect(served).toBeGreaterThanOrEqual(8)
  expect(served).toBeLessThanOrEqual(9)
  const { cost_usd: cost } = await stack.usageOf(client, served)
  expect(cost).toBeCloseTo(served * 0.06048, 6)
  upstream.answer((_request, response) => void response.writeHead(200, SSE).end(RESPONSES.end(1, 1)))
  expect((await post(RESPONSES.path, request)).status).toBe(429)
})

test('150 calls that are left at once are all read on; new ones of their client are refused until they end, and those of no other', async () => {
  const request = { model: 'gpt-5', stream: true, messages: user('hi') }
  const text = JSON.stringify(request)
  const sockets = Array.from({ length: 150 }, () => {
    const socket = dial(stack.url)
    socket.write(requestText(CHAT.path, headersFor(client, text), 'POST', text))
    return socket
  })
  await expect.poll(() => waiting.length).toBe(150)
  for (const socket of sockets) socket.destroy()
  await goingOn(150)

  const refused = await post(CHAT.path, request)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'concurrency' } })
  const [head = ''] = (
    await exchange(
      stack.url,
      requestText('/v1/realtime?model=gpt-realtime', [
        `Authorization: Bearer ${client.key}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      ]),
    )
  ).lines
  expect(head).toContain('429')
  // What costs nothing is not refused.
  const listed = fetch(`${stack.url}/v1/files`, { headers: { authorization: `Bearer ${client.key}` } })
  await expect.poll(() => waiting.length).toBe(151)
  json(waiting[150] as ServerResponse, 200, { data: [] })
  expect((await listed).status).toBe(200)
  const other = await stack.addClient(`other ${number}`)
  const answering = post(CHAT.path, request, other)
  await expect.poll(() => waiting.length).toBe(152)
  waiting[151]?.writeHead(200, SSE).end(CHAT.end(1, 1))
  expect((await answering).status).toBe(200)

  for (const answer of waiting.slice(0, 150)) answer.writeHead(200, SSE).end(CHAT.end(1_000, 20_000))
  await goingOn(0)
  await stack.usageOf(client, 151)
  const metered = (await stack.calls(client)).filter(({ path }) => path === CHAT.path)
  expect(metered).toHaveLength(150)
  for (const row of metered)
    expect(row).toMatchObject({ usage_source: 'reported', input_tokens: '1000', output_tokens: '20000' })
  const again = post(CHAT.path, request)
  await expect.poll(() => waiting.length).toBe(153)
  waiting[152]?.writeHead(200, SSE).end(CHAT.end(1, 1))
  expect((await again).status).toBe(200)
})

test('one honest search has no plain call refused beside thirty others, far below the budget', async () => {
  await budget(1_000_000_000_000n)
  const search = post(RESPONSES.path, { model: 'gpt-4.1', input: 'hi', max_output_tokens: 100, ...SEARCH })
  await expect.poll(() => waiting.length).toBe(1)
  json(waiting[0] as ServerResponse, 200, {
    object: 'response',
    id: 'resp_1',
    model: 'gpt-4.1',
    status: 'completed',
    usage: { input_tokens: 30_000, output_tokens: 60, total_tokens: 30_060 },
  })
  expect((await search).status).toBe(200)
  await stack.usageOf(client, 1)
  const plain = { model: 'gpt-4.1', input: 'hi', max_output_tokens: 200 }
  const calls = Array.from({ length: 30 }, () => post(RESPONSES.path, plain))
  await expect.poll(() => waiting.length).toBe(31)
  for (const [place, answer] of waiting.slice(1).entries())
    json(answer, 200, {
      object: 'response',
      id: `resp_${place + 2}`,
      model: 'gpt-4.1',
      status: 'completed',
      usage: { input_tokens: 10, output_tokens: 200, total_tokens: 210 },
    })
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(30).fill(200))
})

test('clients that leave a thousand long answers at once are charged for each, and none of them is refused another', async () => {
  const request = { model: 'gpt-4.1', input: 'hi', stream: true, ...SEARCH }
  const text = JSON.stringify(request)
  const leavers = [client]
  while (leavers.length < 20) leavers.push(await stack.addClient(`left ${number} ${leavers.length}`))
  const sockets: Socket[] = []
  for (let round = 0; round < 50; round += 1) {
    for (const who of leavers) {
      const socket = dial(stack.url)
      socket.write(requestText(RESPONSES.path, headersFor(who, text), 'POST', text))
      sockets.push(socket)
    }
    await expect.poll(() => waiting.length).toBe(sockets.length)
  }
  for (const socket of sockets) socket.destroy()
  await goingOn(1_000)
  const connections = () =>
    new Promise<number>((resolve) => upstream.server.getConnections((_error, count) => resolve(count)))
  expect(await connections()).toBeLessThan(1_050)
  const answering = leavers.map((who) => post(RESPONSES.path, request, who))
  await expect.poll(() => waiting.length).toBe(1_020)
  for (const answer of waiting) answer.writeHead(200, SSE).end(RESPONSES.end(30_000, 60))
  expect((await Promise.all(answering)).map(({ status }) => status)).toEqual(Array(20).fill(200))
  await goingOn(0)
  for (const who of leavers) {
    const usage = await stack.usageOf(who, 51)
    expect([usage.input_tokens, usage.output_tokens]).toEqual([51 * 30_000, 51 * 60])
  }
})
