import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { BodyBudget } from '../../../src/gateway/bodies/body-budget.ts'
import { estimateTextTokens } from '../../../src/gateway/estimation/estimate-tokens.ts'
import type { UpstreamTable } from '../../../src/gateway/routing/upstream-table.ts'
import { openPool, type Upstream } from '../../../src/gateway/routing/upstream-table.ts'
import { acceptWebSockets } from '../../../src/gateway/websocket/web-socket.ts'
import { ObjectIndex } from '../../../src/objects/object-index.ts'
import { Objects } from '../../../src/objects/objects.ts'
import type { Dialect, MessageReader } from '../../../src/providers/dialect.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import { selectDialect } from '../../../src/providers/registry.ts'
import { createFrameWatch } from '../../../src/providers/wires/websocket-frames.ts'
import { madeSessions } from '../../fixtures/sessions.ts'
import { loadRecordings } from '../../providers/recordings/recordings.ts'
import { soon } from '../../support/patience.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { createLooseOptions, type LooseOptions } from '../bodies/loose-options.ts'

const CUTS = 1000
const WAYS = [
  'client ends',
  'client breaks off',
  'client closes',
  'upstream breaks off',
  'key revoked',
] as const
/** In these the upstream can still answer. */
const READ_ON: ReadonlySet<string> = new Set([
  'client ends',
  'client breaks off',
  'client closes',
  'key revoked',
])

/** A session as its upstream sends it. */
interface Played {
  readonly id: string
  readonly provider: Provider
  readonly path: string
  readonly messages: readonly Buffer[]
  /** The same as frames. */
  readonly bytes: Buffer
  /** Where each message's frame ends. */
  readonly ends: readonly number[]
}

function play(id: string, provider: Provider, path: string, messages: readonly Buffer[]): Played {
  const frames = messages.map(frameOf)
  let end = 0
  const ends = frames.map((frame) => (end += frame.length))
  return { id, provider, path, messages, bytes: Buffer.concat(frames), ends }
}

/** A text frame, unmasked, as a server sends it. */
function frameOf(message: Buffer): Buffer {
  const head =
    message.length < 126
      ? Buffer.from([0x81, message.length])
      : message.length < 65_536
        ? Buffer.from([0x81, 126, message.length >> 8, message.length & 0xff])
        : Buffer.from([0x81, 127, 0, 0, 0, 0, ...int32(message.length)])
  return Buffer.concat([head, message])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Two spoken responses; the second one's usage tells far more than was heard. */
function madeSession(): Played {
  const usage = (input: number, output: number) => ({
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    output_token_details: { audio_tokens: output },
  })
  const response = (input: number, output: number) => [
    { type: 'response.created', response: { id: 'resp', status: 'in_progress', usage: null } },
    ...Array.from({ length: 8 }, () => ({ type: 'response.output_audio.delta', delta: 'A'.repeat(4000) })),
    ...['One', ' two', ' three', ' four'].map((delta) => ({
      type: 'response.output_audio_transcript.delta',
      delta,
    })),
    { type: 'response.output_audio.done' },
    { type: 'response.done', response: { id: 'resp', status: 'completed', usage: usage(input, output) } },
  ]
  const session = { type: 'realtime', model: 'gpt-realtime' }
  const events = [{ type: 'session.created', session }, ...response(1000, 60), ...response(1100, 5000)]
  const messages = events.map((event) => Buffer.from(JSON.stringify(event)))
  return play('made', 'openai', '/v1/realtime', messages)
}

/** Sound of a client's that is written down, in a session that does nothing else; each usage tells far more. */
function transcribedSession(): Played {
  const event = 'conversation.item.input_audio_transcription'
  const item = (item_id: string) => [
    { type: 'input_audio_buffer.committed', item_id },
    ...['One', ' two', ' three', ' four'].map((delta) => ({ type: `${event}.delta`, item_id, delta })),
    {
      type: `${event}.completed`,
      item_id,
      usage: { type: 'tokens', input_tokens: 5_000, output_tokens: 900 },
    },
  ]
  const transcription = { model: 'gpt-4o-transcribe' }
  const session = { type: 'transcription', audio: { input: { transcription } } }
  const events = [{ type: 'session.created', session }, ...item('a'), ...item('b'), ...item('c')]
  const messages = events.map((one) => Buffer.from(JSON.stringify(one)))
  return play('transcribed', 'openai', '/v1/realtime', messages)
}

function fixtureSessions(): readonly Played[] {
  return madeSessions.map(({ oddity, provider, path, messages }) =>
    play(
      oddity,
      provider,
      path,
      messages.map((message) => Buffer.from(JSON.stringify(message))),
    ),
  )
}

function recordedSessions(): readonly Played[] {
  return loadRecordings()
    .filter(({ meta }) => meta.wire === 'websocket-jsonl')
    .map(({ id, provider, path, body }) => {
      const lines = body
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '')
      return play(
        id,
        provider,
        path,
        lines.map((line) => Buffer.from(line)),
      )
    })
}

interface Visit {
  readonly session: Played
  readonly cut: number
  readonly way: (typeof WAYS)[number]
  readonly goesOn: boolean
  readonly cutOff: PromiseWithResolvers<Duplex>
}

let visit: Visit
/** Where the upstream goes on there is time for it; where it does not, none is lost. */
const patient = createLooseOptions({ closeMs: 2_000 })
const impatient = createLooseOptions({ answerMs: 20, closeMs: 20 })
let upstream: Server
const gateways = new Map<LooseOptions, Server>()
const revokers: ((keyId: string) => void)[] = []

beforeAll(async () => {
  upstream = createServer()
  upstream.on('upgrade', (request, socket) => void serve(request.headers['sec-websocket-key'] ?? '', socket))
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const pool = openPool(origin, { headersTimeoutMs: 10_000, idleTimeoutMs: 10_000 })
  const upstreamOf = (provider: Provider): Upstream => ({
    name: provider,
    origin,
    host: `127.0.0.1:${port}`,
    basePath: '',
    provider,
    credential: null,
    fetched: null,
    takesClients: false,
    models: null,
    pathPrefix: null,
    mountedAt: '',
    ownsOrigins: false,
    publicUrl: null,
    modelsPath: '/v1/models',
    includeUsage: 'auto',
    objects: 'shared',
    account: [provider],
    pool,
  })
  const upstreams: UpstreamTable = {
    all: [],
    needsModel: false,
    routes: null,
    byPrefix: () => null,
    byModel: () => upstreamOf(visit.session.provider),
    choose: () => upstreamOf(visit.session.provider),
    get fallback() {
      return upstreamOf(visit.session.provider)
    },
  }
  for (const options of [patient, impatient]) {
    const gateway = createServer({ shouldUpgradeCallback: () => true })
    acceptWebSockets(gateway, {
      services: options,
      admission: {
        stages: buildStages(),
        config: loadGatewayConfig({
          UPSTREAM_URL: origin,
          DATABASE_URL: 'postgresql://x',
          REDIS_URL: 'redis://x',
          KEY_PEPPER: 'x',
        }),
        ledger: options.ledger,
        upstreams,
        pathPolicy: { permits: () => true, allowsByName: () => true },
        objects: new Objects(new ObjectIndex({ selectOwners: async () => [] })),
        jobs: { settle: async () => null },
        unattended: options.unattended,
        limits: null,
        refused: () => {},
        refusedUnknown: () => {},
        findCaller: (key) => ({
          kind: 'active',
          caller: { clientId: 'c', clientName: 'c', keyId: key, keyName: 'k', models: null },
        }),
        signers: { findSigner: () => ({ kind: 'unknown' }), provesSigner: () => false },
        now: () => 0,
        stageFailed: (error) => {
          throw error
        },
      },
      onDeactivated(listener) {
        revokers.push(listener)
        return () => {}
      },
      bodyBudget: new BodyBudget(4 * 1024 * 1024, 4 * 1024 * 1024),
      handshakeTimeoutMs: 10_000,
    })
    await once(gateway.listen(0, '127.0.0.1'), 'listening')
    gateways.set(options, gateway)
  }
})

afterAll(() => {
  for (const server of [...gateways.values(), upstream]) {
    server?.closeAllConnections()
    server?.close()
  }
})

/** Sends what comes before the cut, and the rest when asked to; a close frame it answers at once, and sends no more. */
async function serve(key: string, socket: Duplex): Promise<void> {
  const { session, cut, cutOff, goesOn } = visit
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  socket.on('error', () => {})
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  )
  socket.write(session.bytes.subarray(0, cut))
  const frames = createFrameWatch()
  socket.on('data', (bytes: Buffer) => {
    frames.push(bytes)
    if (frames.isClosed && socket.writable) socket.end(Buffer.from([0x88, 0]))
  })
  socket.on('end', () => socket.end())
  cutOff.resolve(socket)
  await allowed.promise
  if (goesOn && socket.writable) socket.write(session.bytes.subarray(cut))
}

/** The gateway has seen the cut. */
let allowed = Promise.withResolvers<void>()

async function visitAndLeave(key: string): Promise<void> {
  const { session, cut, way, cutOff, goesOn } = visit
  const options = goesOn ? patient : impatient
  const { port } = gateways.get(options)?.address() as AddressInfo
  const socket: Socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `GET ${session.path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  )
  let got = 0
  let head = ''
  socket.on('data', (bytes: Buffer) => {
    if (!head.includes('\r\n\r\n')) {
      head += bytes.toString('latin1')
      if (head.includes('\r\n\r\n')) got = head.length - head.indexOf('\r\n\r\n') - 4
    } else got += bytes.length
  })
  const upstreamSide = await cutOff.promise
  // Masked: something was said, which in a session of Live has to be its setup.
  const said = Buffer.from(session.provider === 'gemini' ? '{"setup":{"model":"models/m"}}' : '{"a":"bcde"}')
  socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | said.length, 0, 0, 0, 0]), said]))
  await soon(() => head.includes('\r\n\r\n') && got >= cut)
  if (way === 'client ends') socket.end()
  else if (way === 'client breaks off') socket.destroy()
  else if (way === 'client closes') socket.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]))
  else if (way === 'upstream breaks off') upstreamSide.destroy()
  else for (const revoke of revokers) revoke(key)
  // Then its close frame waits for what is still to come.
  const isHeld = way === 'client closes' && readUpTo(session, cut).underWay
  await soon(() => options.records.has(key) || options.unattended.count > 0 || isHeld)
  allowed.resolve()
  await soon(() => options.records.has(key))
  socket.destroy()
  upstreamSide.destroy()
}

function read(session: Played, messages: readonly Buffer[]): MessageReader {
  const reader = dialectOf(session).createMessageReader?.({
    method: 'GET',
    path: session.path,
    model: null,
    stream: null,
  })
  if (reader === undefined) throw new Error(`${session.id} is not a session`)
  for (const message of messages) reader.message(message)
  return reader
}

function readUpTo(session: Played, cut: number): MessageReader {
  return read(session, session.messages.slice(0, session.ends.filter((end) => end <= cut).length))
}

function dialectOf({ provider, path }: Played): Dialect {
  const dialect = selectDialect(provider, 'GET', path)
  if (dialect === null) throw new Error(`${provider} has no ${path}`)
  return dialect
}

/**
 * The tokens that the client had by the cut: those that were counted, and those of the words and the sound
 * that were not.
 */
async function deliveredAt(session: Played, messages: readonly Buffer[]): Promise<number> {
  const reader = read(session, messages)
  const counted = reader.peek().usage.outputTokens ?? 0
  if (!reader.underWay) return counted
  let from = messages.length
  while (from > 0 && read(session, messages.slice(0, from)).underWay) from -= 1
  const dialect = dialectOf(session)
  const words = messages
    .slice(from)
    .map((message) => dialect.textOf(JSON.parse(message.toString('utf8'))))
    .join('')
  return counted + (await estimateTextTokens(words, reader.peek().model, dialect)) + reader.soundTokens
}

/** What is counted behind message `from`, wherever no response is under way. */
function sumsAfter(session: Played, from: number): readonly number[] {
  const reader = read(session, session.messages.slice(0, from))
  return session.messages.slice(from).flatMap((message) => {
    reader.message(message)
    return reader.underWay ? [] : [reader.peek().usage.outputTokens ?? 0]
  })
}

test(`${CUTS} cuts of realtime sessions, five ways: never less than was delivered, exact where the usage comes`, async () => {
  const random = seededRandom(11)
  const made = [madeSession(), transcribedSession(), ...fixtureSessions()]
  const sessions = [...made, ...recordedSessions()]
  const wrong: object[] = []
  let underWay = 0
  let readOn = 0
  for (let index = 0; index < CUTS; index += 1) {
    const session = sessions[index % sessions.length]
    const way = WAYS[Math.floor(random() * WAYS.length)]
    if (session === undefined || way === undefined) throw new RangeError('no session')
    const cut = Math.floor(random() * session.bytes.length)
    const goesOn = random() < 0.8
    const key = `tg_${index}`
    allowed = Promise.withResolvers()
    visit = { session, cut, way, goesOn, cutOff: Promise.withResolvers() }
    await visitAndLeave(key)

    const record = (goesOn ? patient : impatient).records.get(key)
    const whole = session.ends.filter((end) => end <= cut).length
    const messages = session.messages.slice(0, whole)
    const reader = read(session, messages)
    const delivered = await deliveredAt(session, messages)
    const counted = record?.usage.outputTokens ?? 0
    const source = record?.usageSource
    const problem = (what: string) =>
      wrong.push({
        what,
        index,
        id: session.id,
        way,
        cut,
        goesOn,
        source,
        counted,
        delivered,
        outcome: record?.outcome,
      })
    if (counted < delivered) problem('less than was delivered')
    if (!reader.underWay) {
      if (counted !== delivered) problem('other than was counted')
      continue
    }
    underWay += 1
    // A close frame goes on once all has come.
    const isInOrder = way === 'client closes' && goesOn && record?.outcome === 'complete'
    const outcome = way === 'upstream breaks off' ? 'upstream_error' : 'client_aborted'
    if (record?.outcome !== outcome && !isInOrder) problem('outcome')
    if (source !== 'reported' && source !== 'estimated') problem('not flagged')
    if (record?.costPico === '0' || record?.costPico === null) problem('free')
    if (!goesOn || !READ_ON.has(way)) continue
    // What comes in one piece with the usage that was waited for is read as well.
    const sums = sumsAfter(session, whole)
    if (sums.length === 0) continue
    readOn += 1
    if (source !== 'reported' || !sums.includes(counted)) problem('not read on')
  }
  expect(wrong).toEqual([])
  expect(patient.records.size + impatient.records.size).toBe(CUTS)
  expect(patient.unattended.count + impatient.unattended.count).toBe(0)
  expect(underWay).toBeGreaterThan(CUTS / 5)
  expect(readOn).toBeGreaterThan(CUTS / 10)
})
