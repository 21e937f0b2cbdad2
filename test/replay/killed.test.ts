import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type GatewayProcess, startGatewayProcess } from '../gateway/gateway-process.ts'
import { type MadeStream, makeStream, STREAM_FORMATS } from '../support/replay/made-streams.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'
import { withoutNullUsage } from './play-cases.ts'

/** Running usage is in the journal this long after it passed, at the latest. */
const RECORDED_WITHIN_MS = 1_000

/** A stream that stands still after some of its events, until the gateway dies. */
interface StandingStream {
  readonly stream: MadeStream
  readonly events: number
}

let folder: string
let upstream: TestUpstream
let stack: TestStack
let doomed: GatewayProcess
let standing: ReadonlyMap<string, StandingStream>

beforeAll(async () => {
  const [openAi, anthropic, gemini, ollama] = STREAM_FORMATS
  const chat = await makeStream(openAi, 0, true)
  const chatUnasked = await makeStream(openAi, 0, false)
  const messages = await makeStream(anthropic, 1)
  const contents = await makeStream(gemini, 2)
  const lines = await makeStream(ollama, 3)
  standing = new Map([
    ['chat before its usage', { stream: chat, events: 5 }],
    ['chat after its usage', { stream: chat, events: chat.eventsUntilUsage }],
    ['chat to its [DONE], not asked for usage', { stream: chatUnasked, events: chatUnasked.events.length }],
    ['messages after message_start', { stream: messages, events: 4 }],
    ['messages after the last message_delta', { stream: messages, events: messages.eventsUntilUsage }],
    ['contents amid', { stream: contents, events: 6 }],
    ['lines amid', { stream: lines, events: 6 }],
    ['lines after the last', { stream: lines, events: lines.events.length }],
  ])

  upstream = await startUpstream((request, response) => {
    const found = standing.get(`${request.headers['x-standing']}`)
    if (found === undefined) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, { 'content-type': found.stream.contentType })
    response.write(found.stream.events.slice(0, found.events).join(''))
  })
  const sockets = new WebSocketServer({ noServer: true })
  upstream.server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (session) => {
      for (const output of [20, 30])
        session.send(
          JSON.stringify({
            type: 'response.done',
            response: {
              id: `resp_${output}`,
              usage: { input_tokens: 100, output_tokens: output, total_tokens: 100 + output },
            },
          }),
        )
    })
  })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-killed-'))
  const config = join(folder, 'upstreams.yaml')
  const upstreams = STREAM_FORMATS.map(
    ({ provider }) =>
      `  - { name: ${provider}, url: '${upstream.url}', provider: ${provider}, path_prefix: /at-${provider} }\n`,
  )
  await writeFile(config, `upstreams:\n${upstreams.join('')}`)
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: config } })
  // The same journal directory: the stack's own gateway will adopt what the killed one leaves.
  doomed = await startGatewayProcess(stack.env)
})

afterAll(async () => {
  doomed?.child.kill('SIGKILL')
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Opens the stream called `name`; resolves when the client has all that its upstream sent, less the usage event not asked for. */
async function open(client: TestClient, name: string, { stream, events }: StandingStream): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const sent = stream.events.slice(0, events)
  const wanted = stream.showsUsage
    ? sent
    : sent.filter((_, index) => index !== stream.eventsUntilUsage - 1).map(withoutNullUsage)
  const bytes = Buffer.byteLength(wanted.join(''))
  let received = 0
  const request = httpRequest(
    `${doomed.url}/at-${stream.provider}${stream.path}`,
    {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${client.key}`,
        'content-type': 'application/json',
        'x-standing': name,
      },
    },
    (response) => {
      response.on('data', (chunk: Buffer) => {
        received += chunk.length
        if (received === bytes) resolve()
      })
      response.on('error', () => {})
    },
  )
  request.on('error', () => {})
  request.end(JSON.stringify(stream.request))
  await promise
}

async function openSession(client: TestClient): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const session = new WebSocket(
    `${doomed.url.replace(/^http/, 'ws')}/at-openai/v1/realtime?model=gpt-realtime`,
    { headers: { authorization: `Bearer ${client.key}` } },
  )
  let messages = 0
  session.on('message', () => {
    messages += 1
    if (messages === 2) resolve()
  })
  session.on('error', () => {})
  await promise
}

test('streams cut by kill -9 are adopted as interrupted, with all the usage that had passed', async () => {
  const clients = new Map<string, TestClient>()
  for (const name of [...standing.keys(), 'session'])
    clients.set(name, await stack.addClient(name.replaceAll(/[^a-z]+/gi, '-')))
  const clientOf = (name: string): TestClient => {
    const client = clients.get(name)
    if (client === undefined) throw new RangeError(name)
    return client
  }
  const amid = [...standing].filter(([name]) => !name.includes('chat'))
  await Promise.all([
    ...amid.map(([name, found]) => open(clientOf(name), name, found)),
    openSession(clientOf('session')),
  ])
  await delay(RECORDED_WITHIN_MS + 200)
  // Final counts are in the journal before the client has what comes after them: nothing to wait for.
  await Promise.all(
    [...standing]
      .filter(([name]) => name.includes('chat'))
      .map(([name, found]) => open(clientOf(name), name, found)),
  )
  doomed.child.kill('SIGKILL')
  await doomed.exited

  const rows = new Map<string, unknown>()
  for (const [name, client] of clients) {
    await stack.usageOf(client, 1)
    const [row, ...more] = await stack.calls(client)
    expect(more).toEqual([])
    rows.set(name, {
      outcome: row?.outcome,
      source: row?.usage_source,
      input: row?.input_tokens === null ? null : Number(row?.input_tokens),
      output: row?.output_tokens === null ? null : Number(row?.output_tokens),
    })
  }
  const exact = (name: string) => {
    const found = standing.get(name)?.stream
    return {
      outcome: 'interrupted',
      source: 'reported',
      input: found?.inputTokens,
      output: found?.outputTokens,
    }
  }
  const contents = standing.get('contents amid')?.stream
  expect(Object.fromEntries(rows)).toEqual({
    'chat before its usage': { outcome: 'interrupted', source: 'none', input: null, output: null },
    'chat after its usage': exact('chat after its usage'),
    'chat to its [DONE], not asked for usage': exact('chat to its [DONE], not asked for usage'),
    'messages after message_start': {
      outcome: 'interrupted',
      source: 'partial',
      input: standing.get('messages after message_start')?.stream.inputTokens,
      output: 1,
    },
    'messages after the last message_delta': exact('messages after the last message_delta'),
    'contents amid': {
      outcome: 'interrupted',
      source: 'partial',
      input: contents?.inputTokens,
      output: expect.any(Number),
    },
    'lines amid': { outcome: 'interrupted', source: 'none', input: null, output: null },
    'lines after the last': exact('lines after the last'),
    session: { outcome: 'interrupted', source: 'reported', input: 200, output: 50 },
  })
})
