import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'

const upstream = createServer((request, response) => {
  request.resume()
  response.end('{"data":[]}')
})
const sockets = new WebSocketServer({ noServer: true })
let says: readonly object[] = []
let accepted = 0
let folder: string
let stack: TestStack
let client: TestClient
let clients = 0

beforeAll(async () => {
  upstream.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      accepted += 1
      for (const message of says) webSocket.send(JSON.stringify(message))
      webSocket.close(1000)
    }),
  )
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-session-prices-'))
  const config = join(folder, 'upstreams.yaml')
  const named = (name: string) =>
    `  - { name: ${name}, url: 'http://127.0.0.1:${port}', provider: ${name}, path_prefix: /${name} }\n`
  const prices = "prices:\n  - { model: 'voxtral', provider: vllm, input: '2', output: '4' }\n"
  await writeFile(config, `upstreams:\n${['openai', 'vllm'].map(named).join('')}${prices}`)
  stack = await startStack(`http://127.0.0.1:${port}`, {
    env: { TALLYGATE_CONFIG: config, SHUTDOWN_GRACE_MS: '500' },
  })
})

afterAll(async () => {
  await stack?.stop()
  for (const socket of sockets.clients) socket.terminate()
  upstream.closeAllConnections()
  upstream.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => {
  accepted = 0
})

function dialed(path: string): WebSocket {
  return new WebSocket(`${stack.url.replace('http', 'ws')}${path}`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
}

/** The row of a session of a new client, in which the upstream says `messages` and closes. */
async function rowOf(path: string, messages: readonly object[]): Promise<Record<string, unknown>> {
  clients += 1
  client = await stack.addClient(`prices ${clients}`)
  says = messages
  await once(dialed(path), 'close')
  await stack.usageOf(client, 1)
  const [row = {}] = await stack.calls(client)
  return row
}

async function costOf(path: string, messages: readonly object[]): Promise<number> {
  const row = await rowOf(path, messages)
  expect(row).toMatchObject({ usage_source: 'reported', partly_unpriced: false, unpriced_reason: null })
  return Number(row.cost_pico)
}

const RESPONSES = '/openai/v1/responses'

function response(model: string, tier: string, input: number, output = 1_000): readonly object[] {
  const begun = { id: 'resp_1', object: 'response', model, status: 'in_progress', service_tier: 'auto' }
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.completed', response: { ...begun, status: 'completed', service_tier: tier, usage } },
  ]
}

describe('the responses of a session', () => {
  test('cost what each costs at its own tier, whichever came last', async () => {
    const dear = response('gpt-5', 'priority', 1_000)
    const cheap = response('gpt-5', 'flex', 1_000)
    const [atPriority, atFlex] = [await costOf(RESPONSES, dear), await costOf(RESPONSES, cheap)]
    expect(atPriority / atFlex).toBeGreaterThan(3)
    expect(await costOf(RESPONSES, [...dear, ...dear, ...cheap])).toBe(2 * atPriority + atFlex)
    expect(await costOf(RESPONSES, [...cheap, ...dear])).toBe(atPriority + atFlex)
  })

  test('cost what each costs by the length of its own prompt', async () => {
    const short = response('gpt-5.4', 'default', 20_000)
    const long = response('gpt-5.4', 'default', 300_000)
    const [ofShort, ofLong] = [await costOf(RESPONSES, short), await costOf(RESPONSES, long)]
    expect(await costOf(RESPONSES, Array.from({ length: 20 }, () => short).flat())).toBe(20 * ofShort)
    expect(await costOf(RESPONSES, [...long, ...short, ...long])).toBe(2 * ofLong + ofShort)
  })

  test('keep the tier of one that is over while another begins', async () => {
    const dear = response('gpt-5', 'priority', 1_000)
    const [begun = {}] = response('gpt-5', 'default', 1_000)
    const row = await rowOf(RESPONSES, [...dear, begun])
    expect(Number(row.cost_pico)).toBeGreaterThanOrEqual(await costOf(RESPONSES, dear))
  })
})

test('a transcript of a realtime session of vLLM costs its tokens', async () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }
  const transcript = { type: 'transcription.done', text: 'hello', usage }
  const path = '/vllm/v1/realtime?model=voxtral'
  const created = { type: 'session.created', id: 'sess-1', created: 1 }
  expect(await costOf(path, [created, transcript, transcript])).toBe(2 * (1_000 * 2 + 100 * 4) * 1_000_000)
})

describe('under a hard budget', () => {
  async function limited(): Promise<void> {
    clients += 1
    client = await stack.addClient(`prices ${clients}`)
    const order = { kind: 'budget', per: 'day', isSoft: false, amount: 10n ** 12n } as const
    await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, [order], 'test')
    await expect.poll(async () => (await stack.usage(client, '?include=limits')).limits?.length).toBe(1)
  }

  test('a session on a path that nothing reads is refused, whatever model it names', async () => {
    await limited()
    const session = dialed('/openai/v1/realtime/translations?model=gpt-realtime')
    session.on('error', () => {})
    const [, answer] = await once(session, 'unexpected-response')
    expect(answer.statusCode).toBe(403)
    session.terminate()
    expect(accepted).toBe(0)
  })
})
