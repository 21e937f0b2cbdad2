import { createHash, randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { constants, deflateRawSync } from 'node:zlib'
import { LABEL, type Script } from '../provider.ts'
import { type Attack, type Attacker, show, type Verdict, type World } from '../world.ts'

// D: compressed messages of WebSockets that are large once they are inflated.

/** As much as 105faaa8 read of one message of each side. */
const INFLATED_BYTES = { client: 4_000_000, upstream: 16 * 1024 * 1024 }
/** Another client may wait so much longer for a list of models meanwhile, in the best of some tries. */
const MOST_MS = 200
const TRIES = 3
/** What was thrown may be read only seconds later. */
const TRY_MS = 6_000
/** Of each client. */
const BOMBS = 300

const bomb = (inflatedBytes: number) => {
  const bytes = deflateRawSync(Buffer.alloc(inflatedBytes, 32), { finishFlush: constants.Z_SYNC_FLUSH })
  return bytes.subarray(0, -4)
}

/** A text frame of a deflated message; a client's is masked, here with zeros. */
function frameOf(payload: Buffer, masked: boolean): Buffer {
  const head = Buffer.alloc(4)
  head[0] = 0xc1
  head[1] = 126 | (masked ? 0x80 : 0)
  head.writeUInt16BE(payload.length, 2)
  return Buffer.concat([head, ...(masked ? [Buffer.alloc(4)] : []), payload])
}

/** Takes every handshake, with compression where it is offered, and never reads a message. */
const upgrading = (then: (socket: Socket) => void): Script => ({
  upgrade(request, socket) {
    const key = String(request.headers['sec-websocket-key'])
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    const offered = String(request.headers['sec-websocket-extensions'] ?? '')
    const extension = offered.includes('permessage-deflate')
      ? 'sec-websocket-extensions: permessage-deflate\r\n'
      : ''
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n${extension}\r\n`,
    )
    socket.resume()
    then(socket)
  },
})

/** A handshake that offers compression, and what is written once it is answered. */
async function handshake(world: World, { key, label }: Attacker, path: string): Promise<Socket> {
  const { hostname, port } = new URL(world.urls[0] ?? '')
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(
    [
      `GET ${path} HTTP/1.1`,
      'host: gateway',
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
      'sec-websocket-extensions: permessage-deflate',
      `authorization: Bearer ${key}`,
      `${LABEL}: ${label}`,
      '\r\n',
    ].join('\r\n'),
  )
  await new Promise<void>((resolve) => {
    socket.once('data', () => resolve())
    socket.once('close', () => resolve())
  })
  return socket
}

/** The longest wait of another client's lists of models, in milliseconds. */
async function longestWait(url: string, victim: Attacker, forMs: number): Promise<number> {
  const until = performance.now() + forMs
  let most = 0
  while (performance.now() < until) {
    const from = performance.now()
    await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${victim.key}` } }).then((answer) =>
      answer.text(),
    )
    most = Math.max(most, performance.now() - from)
    await delay(5)
  }
  return most
}

async function withBombs(...tried: Parameters<typeof withBombsOnce>): Promise<Verdict> {
  let verdict = await withBombsOnce(...tried)
  for (let at = 1; at < TRIES && !verdict.held; at += 1) verdict = await withBombsOnce(...tried)
  return verdict
}

async function withBombsOnce(
  world: World,
  script: Script,
  clients: number,
  path: string,
  throwBombs: (socket: Socket) => void,
): Promise<Verdict> {
  const victim = await world.attacker({ script: {} })
  const attackers = await Promise.all(Array.from({ length: clients }, () => world.attacker({ script })))
  const url = world.urls[0] ?? ''
  const quietMs = await longestWait(url, victim, 1_000)
  const waiting = longestWait(url, victim, TRY_MS)
  const sockets = await Promise.all(attackers.map((attacker) => handshake(world, attacker, path)))
  for (const socket of sockets) throwBombs(socket)
  const mostMs = await waiting
  for (const socket of sockets) socket.destroy()
  return {
    held: mostMs <= Math.min(quietMs, MOST_MS) + MOST_MS,
    figures: `another waited ${show(Math.round(mostMs))} ms, ${show(Math.round(quietMs))} without`,
  }
}

const fromClient = (clients: number) => (world: World) => {
  const frame = frameOf(bomb(INFLATED_BYTES.client), true)
  const throwBombs = (socket: Socket) => {
    for (let at = 0; at < BOMBS; at += 1) socket.write(frame)
  }
  return withBombs(
    world,
    upgrading(() => {}),
    clients,
    '/v1/realtime',
    throwBombs,
  )
}

const fromUpstream = (world: World) => {
  const frame = frameOf(bomb(INFLATED_BYTES.upstream), false)
  const script = upgrading((socket) => {
    for (let at = 0; at < 100; at += 1) socket.write(frame)
  })
  return withBombs(world, script, 1, '/v1/realtime?model=gpt-realtime', () => {})
}

export const DENIAL: readonly Attack[] = [
  {
    id: 'D1',
    says: `a client sends ${BOMBS} messages that inflate a thousandfold`,
    isAlone: true,
    run: fromClient(1),
  },
  { id: 'D2', says: 'ten clients do', isAlone: true, run: fromClient(10) },
  { id: 'D3', says: 'an upstream sends 100, to 16 MB each', isAlone: true, run: fromUpstream },
]
