import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { Admission } from '../../../src/gateway/admission/admission.ts'
import { BodyBudget } from '../../../src/gateway/bodies/body-budget.ts'
import type { Route } from '../../../src/gateway/routing/route.ts'
import { Session } from '../../../src/gateway/websocket/session.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import { selectDialect } from '../../../src/providers/registry.ts'
import { createFrameWatch } from '../../../src/providers/wires/websocket-frames.ts'
import { soon } from '../../support/patience.ts'
import { CallWorld, clock } from './call-world.ts'

/** A session as its upstream sends it, and how it ends. */
export interface PlayedSession {
  readonly provider: Provider
  readonly path: string
  readonly model: string | null
  readonly messages: readonly Buffer[]
  /** The first message of the client's. */
  readonly said: Buffer
  /** Messages that come before the end. */
  readonly cut: number
  readonly end: 'upstream ends' | 'upstream breaks' | 'client ends' | 'client breaks' | 'we end'
  /** The rest comes behind the client's end. */
  readonly goesOn: boolean
  /** In the place of a session. */
  readonly refusal?: { readonly status: number; readonly body: string }
}

function textFrame(message: Buffer, mask: boolean): Buffer {
  const { length } = message
  const bit = mask ? 0x80 : 0
  const head =
    length < 126
      ? [0x81, bit | length]
      : length < 65_536
        ? [0x81, bit | 126, length >> 8, length & 0xff]
        : null
  if (head === null) {
    const long = Buffer.alloc(10)
    long.set([0x81, bit | 127])
    long.writeUInt32BE(length, 6)
    return Buffer.concat([long, ...(mask ? [Buffer.alloc(4)] : []), message])
  }
  return Buffer.concat([Buffer.from(head), ...(mask ? [Buffer.alloc(4)] : []), message])
}

/** Plays a session through real sockets, and gives all that it left behind. */
export async function driveSession(played: PlayedSession): Promise<readonly string[]> {
  clock.now = 1_000
  const world = new CallWorld('cancel', played.goesOn ? 10_000 : 5)
  const upstreamSide = Promise.withResolvers<Duplex>()
  const upstream = await listen((key, socket) => {
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    upstreamSide.resolve(socket)
  }, played.refusal)
  const sessions: Session[] = []
  const gateway = createServer({ shouldUpgradeCallback: () => true })
  gateway.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    const admission = new Admission(request, socket, true, world.now())
    const caller = { clientId: 'c', clientName: 'Client of the call', keyId: 'k', keyName: 'k', models: null }
    const route = routeOf(played, upstream)
    Object.assign(admission, { caller, route, target: route.target })
    const bodyBudget = new BodyBudget(4 * 1024 * 1024, 4 * 1024 * 1024)
    const options = { services: world, bodyBudget, handshakeTimeoutMs: 10_000, admission: world }
    const session = new Session(options, admission, socket, head, () => world.lines.push('over'))
    sessions.push(session)
    session.start()
  })
  await once(gateway.listen(0, '127.0.0.1'), 'listening')
  const client = connect((gateway.address() as AddressInfo).port, '127.0.0.1')
  const got: Buffer[] = []
  client.on('data', (bytes) => got.push(bytes))
  client.on('error', () => {})
  client.write(
    'GET /ignored HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  if (played.refusal === undefined)
    await play(played, await upstreamSide.promise, client, got, sessions, world)
  await soon(() => world.ended > 0 && world.lines.includes('over'))
  if (played.refusal !== undefined) await soon(() => client.destroyed || client.readableEnded)
  for (const server of [gateway, upstream]) server.close().closeAllConnections()
  client.destroy()
  if (played.refusal === undefined) (await upstreamSide.promise).destroy()
  const answer = Buffer.concat(got).toString('latin1')
  return [
    ...world.lines,
    `answer ${JSON.stringify(answer.slice(0, 600))}`.replace(/call-id: [0-9a-f-]{36}/, 'call-id: -'),
  ]
}

async function play(
  { messages, said, cut, end, goesOn }: PlayedSession,
  upstream: Duplex,
  client: Duplex,
  got: readonly Buffer[],
  sessions: readonly Session[],
  world: CallWorld,
): Promise<void> {
  upstream.on('error', () => {})
  const before = Buffer.concat(messages.slice(0, cut).map((message) => textFrame(message, false)))
  const rest = Buffer.concat(messages.slice(cut).map((message) => textFrame(message, false)))
  let heard = 0
  let headBytes = 0
  const frames = createFrameWatch()
  upstream.on('data', (bytes: Buffer) => {
    heard += bytes.length
    frames.push(bytes)
    if (frames.isClosed && upstream.writable) upstream.end(Buffer.from([0x88, 0]))
  })
  upstream.on('end', () => upstream.end())
  await soon(() => Buffer.concat(got).includes('\r\n\r\n'))
  headBytes = Buffer.concat(got).indexOf('\r\n\r\n') + 4
  client.write(textFrame(said, true))
  await soon(() => heard > said.length)
  upstream.write(before)
  await soon(() => Buffer.concat(got).length >= headBytes + before.length)
  if (end === 'upstream ends') upstream.end(Buffer.from([0x88, 2, 3, 0xe8]))
  else if (end === 'upstream breaks') upstream.destroy()
  else if (end === 'client ends') client.end()
  else if (end === 'client breaks') client.destroy()
  else void sessions[0]?.close(1008)
  await soon(() => world.ended > 0 || world.unattended.count > 0)
  if (goesOn && upstream.writable) upstream.write(rest)
}

async function listen(
  accept: (key: string, socket: Duplex) => void,
  refusal: PlayedSession['refusal'],
): Promise<Server> {
  const server = createServer(
    { shouldUpgradeCallback: () => refusal === undefined },
    (_request, response) => {
      response.sendDate = false
      response.writeHead(refusal?.status ?? 500, { 'content-type': 'application/json' })
      response.end(refusal?.body)
    },
  )
  server.on('upgrade', (request, socket) => accept(request.headers['sec-websocket-key'] ?? '', socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

function routeOf({ provider, path, model }: PlayedSession, upstream: Server): Route {
  const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  return {
    upstream: {
      name: 'up',
      origin,
      host: 'up',
      basePath: '',
      provider,
      credential: null,
      fetched: null,
      takesClients: false,
    },
    target: { path, canonicalPath: path, pathAndQuery: path, isRemembered: false },
    dialect: selectDialect(provider, 'GET', path),
    modelInPath: model,
  } as unknown as Route
}
