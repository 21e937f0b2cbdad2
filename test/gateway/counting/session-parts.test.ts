import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { dial } from '../raw-http.ts'

const upstream = createServer((request, response) => {
  request.resume()
  response.end('{"data":[]}')
})
/** It answers as many pings as come. */
const LIMITS = { maxPendingAutoPongs: 100_000 }
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true, ...LIMITS })
let folder: string
let stack: TestStack
let client: TestClient
let clients = 0

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-parts-'))
  const config = join(folder, 'upstreams.yaml')
  const named = (name: string) =>
    `  - { name: ${name}, url: 'http://127.0.0.1:${port}', provider: ${name}, path_prefix: /${name} }\n`
  await writeFile(config, `upstreams:\n${['openai', 'gemini'].map(named).join('')}`)
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

beforeEach(async () => {
  clients += 1
  client = await stack.addClient(`parts ${clients}`)
})

interface Opened {
  readonly client: WebSocket
  readonly upstream: WebSocket
  /** The handshake that went upstream. */
  readonly handshake: IncomingMessage
  readonly closed: Promise<unknown[]>
  /** What the upstream has heard, as text. */
  readonly heard: string[]
}

async function open(path: string, deflate = false): Promise<Opened> {
  upstream.removeAllListeners('upgrade')
  const heard: string[] = []
  const accepted = new Promise<[WebSocket, IncomingMessage]>((resolve) => {
    upstream.on('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.on('message', (bytes) => heard.push(String(bytes)))
        resolve([webSocket, request])
      }),
    )
  })
  const webSocket = new WebSocket(`${stack.url.replace('http', 'ws')}${path}`, {
    headers: { authorization: `Bearer ${client.key}` },
    perMessageDeflate: deflate ? { threshold: 0 } : false,
  })
  const closed = once(webSocket, 'close')
  const [[upstreamSide, handshake]] = await Promise.all([accepted, once(webSocket, 'open')])
  return { client: webSocket, upstream: upstreamSide, handshake, closed, heard }
}

function send(socket: WebSocket, ...messages: readonly object[]): void {
  for (const message of messages) socket.send(JSON.stringify(message))
}

async function record(): Promise<Record<string, unknown> | undefined> {
  await stack.usageOf(client, 1)
  const [row] = await stack.calls(client)
  return row
}

/** Has the upstream say `messages` and end the session in order. */
async function recordOf(path: string, messages: readonly object[]) {
  const session = await open(path)
  send(session.upstream, ...messages)
  session.upstream.close(1000)
  await session.closed
  return await record()
}

const REALTIME = '/openai/v1/realtime?model=gpt-realtime'
const LIVE = '/gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'

function configured(model: string, type = 'realtime'): object {
  const own = type === 'realtime' ? { model: 'gpt-realtime' } : {}
  return {
    type: 'session.updated',
    session: { type, ...own, audio: { input: { transcription: { model } } } },
  }
}

const CREATED = { type: 'response.created', response: { id: 'resp_1', usage: null } }

function done(inputTokens = 10, outputTokens = 10): object {
  const usage = { input_tokens: inputTokens, output_tokens: outputTokens }
  return { type: 'response.done', response: { id: 'resp_1', status: 'completed', usage } }
}

/** $0.08 of gpt-4o-transcribe. */
const TRANSCRIBED = {
  type: 'conversation.item.input_audio_transcription.completed',
  item_id: 'item_1',
  transcript: 'hello',
  usage: {
    type: 'tokens',
    input_tokens: 10_000,
    output_tokens: 2_000,
    input_token_details: { audio_tokens: 10_000 },
  },
}
const COMMITTED = { type: 'input_audio_buffer.committed', item_id: 'item_1' }
const TRANSCRIPTION_PICO = 80_000_000_000
/** 10 tokens at $4 and 10 at $16 a million. */
const RESPONSE_PICO = 200_000_000

const twenty = Array.from({ length: 20 }, () => TRANSCRIBED)

describe('the transcription of a realtime session’s input', () => {
  test('costs what its own model costs, beside a response', async () => {
    expect(
      await recordOf(REALTIME, [configured('gpt-4o-transcribe'), CREATED, done(), ...twenty]),
    ).toMatchObject({
      outcome: 'complete',
      model: 'gpt-realtime',
      usage_source: 'reported',
      // Of the model that answers: the transcription is in the cost.
      input_tokens: '10',
      output_tokens: '10',
      cost_pico: `${20 * TRANSCRIPTION_PICO + RESPONSE_PICO}`,
      partly_unpriced: false,
    })
  })

  test('costs the same without a response', async () => {
    expect(await recordOf(REALTIME, [configured('gpt-4o-transcribe'), ...twenty])).toMatchObject({
      usage_source: 'reported',
      cost_pico: `${20 * TRANSCRIPTION_PICO}`,
      partly_unpriced: false,
      unpriced_reason: null,
    })
  })

  test('costs its seconds where it is billed by them', async () => {
    const usage = { type: 'duration', seconds: 60 }
    const row = await recordOf(REALTIME, [
      configured('whisper-1'),
      CREATED,
      done(),
      { ...TRANSCRIBED, usage },
    ])
    expect(row).toMatchObject({ audio_ms: '60000', cost_pico: `${6_000_000_000 + RESPONSE_PICO}` })
  })

  test('is a gap in the cost where its model has no price, and shows in totals', async () => {
    const row = await recordOf(REALTIME, [configured('made-up-1'), CREATED, done(), TRANSCRIBED])
    expect(row).toMatchObject({ cost_pico: `${RESPONSE_PICO}`, partly_unpriced: true })
    const { rows } = await stack.pool.query(
      "select definition from tallygate.prices where price_id = $1 and definition ? 'unpriced'",
      [row?.price_id],
    )
    expect(rows).toHaveLength(1)
  })

  test('ends the session under a hard budget, long before 400 of them', async () => {
    const order = { kind: 'budget', per: 'day', isSoft: false, amount: 50_000_000_000n } as const
    await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, [order], 'test')
    await expect.poll(async () => (await stack.usage(client, '?include=limits')).limits?.length).toBe(1)
    const session = await open(REALTIME)
    let sent = 0
    send(session.upstream, configured('gpt-4o-transcribe'))
    const sending = setInterval(() => {
      if (sent >= 400 || session.upstream.readyState !== WebSocket.OPEN) return
      sent += 1
      send(session.upstream, TRANSCRIBED)
    }, 2)
    const [code] = await session.closed
    clearInterval(sending)
    expect(code).toBe(1008)
    expect(sent).toBeLessThan(400)
    expect(Number((await record())?.cost_pico)).toBeGreaterThanOrEqual(TRANSCRIPTION_PICO)
  })

  test('ends the session under a hard budget where it has no price', async () => {
    const order = { kind: 'budget', per: 'day', isSoft: false, amount: 10n ** 12n } as const
    await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, [order], 'test')
    await expect.poll(async () => (await stack.usage(client, '?include=limits')).limits?.length).toBe(1)
    const session = await open(REALTIME)
    send(session.upstream, configured('made-up-1'), CREATED, done(), TRANSCRIBED)
    const [code, reason] = await session.closed
    expect([code, String(reason)]).toEqual([1008, expect.stringMatching(/price/)])
  })
})

describe('a session that is cut', () => {
  const ends = ['terminate', 'close'] as const

  test.each([
    ['transcription', '/openai/v1/realtime?intent=transcription'],
    ['realtime', REALTIME],
  ])('between an item of sound and its transcript is not complete (%s)', async (type, path) => {
    const session = await open(path)
    send(session.upstream, configured('gpt-4o-transcribe', type), COMMITTED)
    await once(session.client, 'message')
    await expect.poll(() => session.upstream.readyState).toBe(WebSocket.OPEN)
    const pong = once(session.client, 'pong')
    session.client.ping()
    await pong
    session.client.close()
    const row = await record()
    expect(row).toMatchObject({ outcome: 'client_aborted', usage_source: 'estimated', unpriced_reason: null })
    expect(Number(row?.cost_pico)).toBeGreaterThan(0)
  })

  test('between an item of sound and its transcript is read on for that', async () => {
    const session = await open(REALTIME)
    send(session.upstream, configured('gpt-4o-transcribe'), COMMITTED)
    await once(session.client, 'message')
    const pong = once(session.client, 'pong')
    session.client.ping()
    await pong
    session.client.terminate()
    await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
    send(session.upstream, TRANSCRIBED)
    expect(await record()).toMatchObject({
      outcome: 'client_aborted',
      usage_source: 'reported',
      cost_pico: `${TRANSCRIPTION_PICO}`,
    })
  })

  test.each(ends)('between response.create and response.created is not complete (%s)', async (end) => {
    const session = await open(REALTIME)
    send(session.client, { type: 'response.create' })
    await once(session.upstream, 'message')
    session.client[end]()
    if (end === 'terminate') {
      await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
      session.upstream.terminate()
    }
    const row = await record()
    expect(row).toMatchObject({ outcome: 'client_aborted', usage_source: 'estimated', unpriced_reason: null })
    expect(Number(row?.cost_pico)).toBeGreaterThan(0)
  })

  test('between the turn of a Live client and its first part is not complete, and read on', async () => {
    const session = await open(LIVE)
    const model = 'models/gemini-live-2.5-flash-preview'
    send(session.client, { setup: { model } }, { clientContent: { turns: [], turnComplete: true } })
    await expect.poll(() => session.heard.length).toBe(2)
    session.client.terminate()
    await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
    send(session.upstream, {
      serverContent: { turnComplete: true },
      usageMetadata: { promptTokenCount: 1_000, responseTokenCount: 100, totalTokenCount: 1_100 },
    })
    expect(await record()).toMatchObject({
      outcome: 'client_aborted',
      usage_source: 'reported',
      input_tokens: '1000',
      cost_pico: `${1_000 * 500_000 + 100 * 2_000_000}`,
    })
  })
})

describe('one odd message among 30 spoils itself', () => {
  test('it has a negative count', async () => {
    const messages = Array.from({ length: 30 }, (_, at) => [
      CREATED,
      at === 12 ? done(-4, 10) : done(1_000, 100),
    ]).flat()
    expect(await recordOf(REALTIME, messages)).toMatchObject({
      outcome: 'complete',
      usage_source: 'reported',
      input_tokens: '29000',
      output_tokens: '2910',
      cost_pico: `${29_000 * 4_000_000 + 2_910 * 16_000_000}`,
      partly_unpriced: true,
    })
  })
})

describe('a message of more than 1 MiB', () => {
  const large = 'x'.repeat(1_200_000)

  test('counts, of the upstream’s, and its model', async () => {
    const [usage, setting] = [{ input_tokens: 10, output_tokens: 10 }, configured('whisper-1')]
    const row = await recordOf(REALTIME, [
      configured('gpt-4o-mini-transcribe'),
      { large, ...setting },
      { ...TRANSCRIBED, usage: { type: 'duration', seconds: 60 }, large },
      CREATED,
      { large, type: 'response.done', response: { output: [large], usage } },
    ])
    expect(row).toMatchObject({
      usage_source: 'reported',
      cost_pico: `${6_000_000_000 + RESPONSE_PICO}`,
      partly_unpriced: false,
    })
  })

  test('counts of a Live turn, which it begins and ends', async () => {
    const session = await open(LIVE)
    send(session.client, { setup: { model: 'models/gemini-live-2.5-flash-preview' } })
    await expect.poll(() => session.heard.length).toBe(1)
    const parts = [{ inlineData: { data: large } }]
    send(session.upstream, { serverContent: { modelTurn: { parts } } })
    await once(session.client, 'message')
    session.client.terminate()
    await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
    const usageMetadata = { promptTokenCount: 1_000, responseTokenCount: 100, totalTokenCount: 1_100 }
    send(session.upstream, { serverContent: { modelTurn: { parts }, turnComplete: true }, usageMetadata })
    expect(await record()).toMatchObject({ usage_source: 'reported', cost_pico: '700000000' })
  })

  test('asks for a response that its client pays for', async () => {
    const session = await open(REALTIME)
    const heard = once(session.upstream, 'message')
    session.client.send(`{"type":${' '.repeat(1_200_000)}"response.create"}`)
    await heard
    session.client.terminate()
    await expect.poll(() => stack.gateway.unattendedCalls()).toBe(1)
    send(session.upstream, done())
    expect(await record()).toMatchObject({ usage_source: 'reported', cost_pico: `${RESPONSE_PICO}` })
  })
})

test('a session that changes the model of its transcriptions meets no limit of its own calls at once', async () => {
  const order = { kind: 'concurrent', per: null, isSoft: false, amount: 1n } as const
  await setLimits(stack.pool, { clientId: client.id, keyId: null, model: 'gpt-4o-*' }, [order], 'test')
  await expect.poll(async () => (await stack.usage(client, '?include=limits')).limits?.length).toBe(1)
  const session = await open(REALTIME)
  for (const model of ['gpt-4o-transcribe', 'gpt-4o-mini-transcribe', 'gpt-4o-transcribe']) {
    const heard = once(session.client, 'message')
    send(session.upstream, configured(model))
    await Promise.race([heard, session.closed])
  }
  const other = await open(REALTIME)
  send(other.upstream, configured('gpt-4o-transcribe'))
  expect((await other.closed)[0]).toBe(1008)
  expect(session.client.readyState).toBe(WebSocket.OPEN)
  session.client.close()
  await session.closed
})

describe('the first message of a Live session', () => {
  const dear = 'models/gemini-live-2.5-flash-preview'
  const turn = {
    serverContent: { turnComplete: true },
    usageMetadata: { promptTokenCount: 1_000, responseTokenCount: 100, totalTokenCount: 1_100 },
  }
  const priced = { requested_model: 'gemini-live-2.5-flash-preview', cost_pico: '700000000' }

  test('is read whole before anything goes upstream, though it is long and behind many pings', async () => {
    const session = await open(LIVE)
    for (let at = 0; at < 20_000; at += 1) session.client.ping('x'.repeat(50))
    const instruction = { parts: [{ text: 'x'.repeat(300 * 1024) }] }
    const text = JSON.stringify({ setup: { systemInstruction: instruction, model: dear } })
    session.client.send(text.slice(0, 100), { fin: false })
    session.client.send(text.slice(100), { fin: true })
    await expect.poll(() => session.heard.map((one) => one === text)).toEqual([true])
    send(session.upstream, turn)
    await once(session.client, 'message')
    session.client.close()
    expect(await record()).toMatchObject(priced)
  })

  test.each([
    ['names no model', ['{"setup":{}}']],
    [
      'names two',
      [
        '{"setup":{"model":"models/gemini-2.0-flash-live-001","model":"models/gemini-live-2.5-flash-preview"}}',
      ],
    ],
    ['ends beyond 2 MiB', [`{"setup":{"x":"${'x'.repeat(2 * 1024 * 1024)}","model":"${dear}"}}`]],
  ])('that %s ends the session, and nothing of it goes upstream', async (_, said) => {
    const session = await open(LIVE)
    const upstreamClosed = once(session.upstream, 'close')
    for (const text of said) session.client.send(text)
    const [code, reason] = await session.closed
    expect([code, String(reason)]).toEqual([1008, expect.stringMatching(/^The first message/)])
    await upstreamClosed
    expect(session.heard).toEqual([])
    expect(await record()).toMatchObject({ outcome: 'client_aborted', cost_pico: '0', unpriced_reason: null })
  })

  test('is the only one that names a model: another one ends the session', async () => {
    const session = await open(LIVE)
    send(session.client, { setup: { model: 'models/gemini-2.0-flash-live-001' } })
    await expect.poll(() => session.heard.length).toBe(1)
    send(session.client, { setup: { model: dear } })
    const [code] = await session.closed
    expect(code).toBe(1008)
    expect(session.heard).toHaveLength(1)
  })
})

describe('frames of a metered session', () => {
  test('are not compressed: the extension is not asked for, and not answered', async () => {
    const session = await open(REALTIME, true)
    expect(session.handshake.headers['sec-websocket-extensions']).toBeUndefined()
    expect([session.client.extensions, session.upstream.extensions]).toEqual(['', ''])
    send(session.upstream, CREATED, done())
    session.upstream.close(1000)
    await session.closed
    expect(await record()).toMatchObject({ cost_pico: `${RESPONSE_PICO}` })
  })

  test('an upstream that answers an extension unasked has failed the handshake', async () => {
    upstream.removeAllListeners('upgrade')
    upstream.on('upgrade', (_request, socket) =>
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n',
      ),
    )
    const webSocket = new WebSocket(`${stack.url.replace('http', 'ws')}${REALTIME}`, {
      headers: { authorization: `Bearer ${client.key}` },
    })
    const [, answer] = await new Promise<[unknown, IncomingMessage]>((resolve) => {
      webSocket.on('unexpected-response', (request, response) => resolve([request, response]))
      webSocket.on('error', () => {})
    })
    expect(answer.statusCode).toBe(502)
    answer.resume()
    expect(await record()).toMatchObject({ status: null, outcome: 'upstream_error' })
  })

  test('ten clients that send compressed bombs cost no time: nothing is inflated, and their sessions end', async () => {
    const { Z_SYNC_FLUSH } = constants
    const bomb = deflateRawSync(Buffer.alloc(4 * 1024 * 1024), { finishFlush: Z_SYNC_FLUSH }).subarray(0, -4)
    const head = Buffer.from([0xc1, 0x80 | 126, bomb.length >> 8, bomb.length & 0xff, 0, 0, 0, 0])
    const frames = Buffer.concat(Array.from({ length: 60 }, () => [head, bomb]).flat())
    upstream.removeAllListeners('upgrade')
    upstream.on('upgrade', (request, socket) => {
      socket.on('error', () => {})
      socket.resume()
      const asked = request.headers['sec-websocket-extensions']
      const extensions = asked === undefined ? '' : `Sec-WebSocket-Extensions: ${asked}\r\n`
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n${extensions}\r\n`,
      )
    })
    const bombers = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const socket = dial(stack.url)
        socket.on('error', () => {})
        socket.write(
          `GET /openai/v1/realtime HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.key}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
        )
        const [answer] = await once(socket, 'data')
        expect(String(answer)).toMatch(/^HTTP\/1.1 101 /)
        return socket
      }),
    )
    const before = process.cpuUsage()
    const ends = bombers.map((socket) => once(socket, 'data'))
    for (const socket of bombers) socket.write(frames)
    for (const [frame] of await Promise.all(ends))
      expect([frame[0], frame.readUInt16BE(2)]).toEqual([0x88, 1008])
    const { user, system } = process.cpuUsage(before)
    // Both ends and the gateway are in this process. Inflated, these would be 2.4 GB.
    expect((user + system) / 1e6).toBeLessThan(1.5)
    for (const socket of bombers) socket.destroy()
  })
})
