import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'

const upstream = createServer((request, response) => {
  request.resume()
  response.end('{"data":[]}')
})
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true })
let folder: string
let stack: TestStack
let client: TestClient
let clients = 0

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-sessions-'))
  const config = join(folder, 'upstreams.yaml')
  const named = (name: string) =>
    `  - { name: ${name}, url: 'http://127.0.0.1:${port}', provider: ${name}, path_prefix: /${name} }\n`
  const upstreams = ['openai', 'azure-openai', 'xai', 'gemini', 'vertex'].map(named).join('')
  await writeFile(config, `upstreams:\n${upstreams}`)
  stack = await startStack(`http://127.0.0.1:${port}`, { env: { TALLYGATE_CONFIG: config } })
})

afterAll(async () => {
  await stack?.stop()
  for (const socket of sockets.clients) socket.terminate()
  upstream.closeAllConnections()
  upstream.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  clients += 1
  client = await stack.addClient(`client-${clients}`)
})

interface Order {
  readonly deflate?: boolean
  /** Each message in so many frames. */
  readonly frames?: number
}

/** A session in which the client says `said`, and the upstream answers the last of that with `answers` and closes. */
async function hold(path: string, said: readonly object[], answers: readonly object[], order: Order = {}) {
  upstream.removeAllListeners('upgrade')
  upstream.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      let heard = 0
      const finish = () => {
        for (const answer of answers) accepted.send(JSON.stringify(answer))
        accepted.close()
      }
      accepted.on('message', () => {
        heard += 1
        if (heard === said.length) finish()
      })
      if (said.length === 0) finish()
    }),
  )
  const webSocket = new WebSocket(`${stack.url.replace('http', 'ws')}${path}`, {
    headers: { authorization: `Bearer ${client.key}` },
    perMessageDeflate: order.deflate === true ? { threshold: 0 } : false,
  })
  await once(webSocket, 'open')
  for (const message of said) sendInFrames(webSocket, JSON.stringify(message), order.frames ?? 1)
  await once(webSocket, 'close')
  await stack.usageOf(client, 1)
  const [row] = await stack.calls(client)
  return row
}

function sendInFrames(webSocket: WebSocket, text: string, frames: number): void {
  const size = Math.ceil(text.length / frames)
  for (let at = 0; at < text.length; at += size) {
    webSocket.send(text.slice(at, at + size), { fin: at + size >= text.length })
  }
}

const MODEL = 'gemini-live-2.5-flash-preview'
const TURN = [
  { setupComplete: {} },
  { serverContent: { modelTurn: { parts: [{ text: 'Hello' }] } } },
  {
    serverContent: { turnComplete: true },
    usageMetadata: { promptTokenCount: 1_000, responseTokenCount: 100, totalTokenCount: 1_100 },
  },
]
const INSTRUCTION = { parts: [{ text: 'Be brief. '.repeat(2_000) }] }

test.each([
  [
    'Gemini',
    '/gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
    `models/${MODEL}`,
    {},
  ],
  [
    'Gemini',
    '/gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
    `models/${MODEL}`,
    { deflate: true },
  ],
  [
    'Gemini',
    '/gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
    MODEL,
    { frames: 3 },
  ],
  [
    'Vertex',
    '/vertex/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent',
    `projects/p/locations/us-central1/publishers/google/models/${MODEL}`,
    { frames: 2, deflate: true },
  ],
] as const)('a Live session at %s has the model of the setup, and its price (%#)', async (_, path, model, order) => {
  const setup = {
    model,
    generationConfig: { responseModalities: ['TEXT'] },
    systemInstruction: INSTRUCTION,
  }
  const said = [{ setup }, { clientContent: { turns: [], turnComplete: true } }]
  expect(await hold(path, said, TURN, order)).toMatchObject({
    requested_model: MODEL,
    model: MODEL,
    usage_source: 'reported',
    input_tokens: '1000',
    output_tokens: '100',
    // ai.google.dev/gemini-api/docs/pricing: 0.50 and 2.00 USD per million text tokens.
    cost_pico: `${1_000 * 500_000 + 100 * 2_000_000}`,
    unpriced_reason: null,
  })
})

const DONE = {
  type: 'response.done',
  response: { usage: { input_tokens: 10, output_tokens: 3, total_tokens: 13 } },
}

test('a realtime session has the name of its query where it used anything, though it is not listed', async () => {
  expect(await hold('/xai/v1/realtime?model=grok-voice-made-1', [], [DONE])).toMatchObject({
    requested_model: 'grok-voice-made-1',
    model: 'grok-voice-made-1',
    unpriced_reason: 'no_price',
  })
})

test('a realtime session that used nothing has no unknown name', async () => {
  expect(await hold('/xai/v1/realtime?model=made-up', [], [{ type: 'error', error: {} }])).toMatchObject({
    requested_model: 'made-up',
    model: '(unknown)',
  })
})

test("a realtime session's client may name the model in its first message, or Azure's deployment in the query", async () => {
  const said = [{ type: 'session.update', session: { type: 'realtime', model: 'gpt-realtime' } }]
  const row = await hold('/openai/v1/realtime', said, [DONE])
  expect(row).toMatchObject({ requested_model: 'gpt-realtime', model: 'gpt-realtime', unpriced_reason: null })
  client = await stack.addClient('azure')
  const azure = await hold('/azure-openai/openai/realtime?api-version=1&deployment=our-voice', [], [DONE])
  expect(azure).toMatchObject({ requested_model: 'our-voice', model: 'our-voice' })
})

test('a session of the Responses API has the model of the message that asks, also where no answer came', async () => {
  const said = [{ type: 'response.create', model: 'gpt-4o-mini', input: 'hi' }]
  expect(await hold('/openai/v1/responses', said, [])).toMatchObject({
    requested_model: 'gpt-4o-mini',
    model: 'gpt-4o-mini',
  })
})

test('a model in the query of a session that names its model in messages is none', async () => {
  const said = [{ type: 'response.create', model: 'gpt-4o-mini', input: 'hi' }]
  expect(await hold('/openai/v1/responses?model=gpt-4o', said, [])).toMatchObject({
    requested_model: 'gpt-4o-mini',
    model: 'gpt-4o-mini',
  })
})

test('what the upstream names counts more than what the client asked for', async () => {
  const said = [{ type: 'session.update', session: { model: 'gpt-realtime' } }]
  const created = { type: 'session.created', session: { type: 'realtime', model: 'gpt-realtime-mini' } }
  expect(await hold('/openai/v1/realtime', said, [created, DONE])).toMatchObject({
    requested_model: 'gpt-realtime',
    reported_model: 'gpt-realtime-mini',
    model: 'gpt-realtime-mini',
  })
})
