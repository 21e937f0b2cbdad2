import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect as connectHttp2, constants as constantsOfHttp2 } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import {
  brotliDecompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  gunzipSync,
  inflateSync,
} from 'node:zlib'
import { type Order, WORD } from './orders.ts'

/** How a client leaves, once the piece `after` of its answer was written: -1 is before its headers. */
export interface Leaving {
  readonly how: 'stays' | 'ends' | 'half-closes' | 'resets'
  readonly after: number
  /** Over HTTP/2 a client half-closes by GOAWAY: it opens no more streams, and has those that it opened. */
  readonly protocol: 'HTTP/1.1' | 'HTTP/2'
}

export type Coding = 'identity' | 'gzip' | 'br' | 'deflate' | 'unreadable'

export interface Attempt {
  readonly number: number
  readonly order: Order
  readonly leaving: Leaving
  readonly coding: Coding
}

interface Running extends Attempt {
  readonly reached: PromiseWithResolvers<void>
  readonly left: PromiseWithResolvers<void>
}

/** What the provider has served of an attempt. */
export interface Served {
  /** It sent all of the answer: the whole is billed. */
  isWhole: boolean
}

/** A provider that keeps its own books, and clients of it that leave when they are to. */
export interface Provider {
  readonly url: string
  /** By attempt; absent: it was never asked. */
  readonly books: ReadonlyMap<number, Served>
  /**
   * Makes an attempt through the gateway at `url`.
   * @returns The status, and how many words came: `null` where they cannot be counted.
   */
  attempt(url: string, key: string, attempt: Attempt): Promise<{ status: number; words: number | null }>
  close(): Promise<void>
}

/** So many turns of the loop, a gateway in this process has seen that its client left. */
const TURNS = 60

export async function startProvider(): Promise<Provider> {
  const books = new Map<number, Served>()
  const running = new Map<number, Running>()
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => Buffer.alloc(0))
    response.on('error', () => {})
    const number = Number(/attempt-(\d+)-/.exec(body.toString('latin1'))?.[1])
    const attempt = running.get(number)
    if (attempt === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
      return
    }
    const served = { isWhole: false }
    books.set(number, served)
    await serve(attempt, response)
    served.isWhole = !response.destroyed
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    books,
    async attempt(url, key, attempt) {
      const reached = Promise.withResolvers<void>()
      const left = Promise.withResolvers<void>()
      running.set(attempt.number, { ...attempt, reached, left })
      const asking = attempt.leaving.protocol === 'HTTP/2' ? askOverHttp2 : ask
      return await asking(url, key, { ...attempt, reached, left })
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function serve(
  { order, leaving, coding, reached, left }: Running,
  response: ServerResponse,
): Promise<void> {
  const waits = async (at: number) => {
    if (leaving.how === 'stays' || leaving.after !== at) return
    reached.resolve()
    await left.promise
    for (let turns = 0; turns < TURNS && !response.destroyed; turns += 1) await turn()
  }
  await waits(-1)
  if (response.destroyed) return
  const named = coding === 'unreadable' ? 'gzip' : coding
  const encoding = coding === 'identity' ? {} : { 'content-encoding': named }
  response.writeHead(200, { 'content-type': order.answerType, ...encoding })
  const encoder = encoderOf(coding)
  encoder?.pipe(response)
  for (const [at, { text }] of order.pieces.entries()) {
    if (response.destroyed) return
    if (coding === 'unreadable') response.write(Buffer.from(`junk${at}`.repeat(20)))
    else if (encoder === null) response.write(text)
    else {
      encoder.write(text)
      await new Promise<void>((resolve) => encoder.flush(() => resolve()))
    }
    await waits(at)
  }
  if (response.destroyed) return
  const closed = once(response, 'close')
  if (encoder === null) response.end()
  else encoder.end()
  await closed
}

function encoderOf(coding: Coding) {
  switch (coding) {
    case 'gzip':
      return createGzip()
    case 'deflate':
      return createDeflate()
    case 'br':
      return createBrotliCompress()
    default:
      return null
  }
}

async function ask(
  url: string,
  key: string,
  { order, leaving, reached, left }: Running,
): Promise<{ status: number; words: number | null }> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  const pieces: Buffer[] = []
  socket.on('data', (chunk: Buffer) => pieces.push(chunk))
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  // An answer that ends the connection ends the client's half, too.
  socket.on('end', () => socket.end())
  const body = Buffer.from(order.body)
  socket.write(
    `POST ${order.path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\ncontent-type: ${order.contentType}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
  )
  socket.write(body)
  if (leaving.how !== 'stays') {
    await Promise.race([reached.promise, closed])
    for (let turns = 0; turns < TURNS; turns += 1) await turn()
    leave(socket, leaving.how)
    for (let turns = 0; turns < 2; turns += 1) await turn()
    left.resolve()
  }
  await closed
  left.resolve()
  const answer = Buffer.concat(pieces)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer.toString('latin1', 0, 20))?.[1] ?? 0)
  return { status, words: wordsIn(answer) }
}

async function askOverHttp2(
  url: string,
  key: string,
  { order, leaving, reached, left }: Running,
): Promise<{ status: number; words: number | null }> {
  const session = connectHttp2(url)
  session.on('error', () => {})
  const stream = session.request({
    ':method': 'POST',
    ':path': order.path,
    authorization: `Bearer ${key}`,
    'content-type': order.contentType,
  })
  let status = 0
  let coding: string | undefined
  const pieces: Buffer[] = []
  stream.on('response', (headers) => {
    status = headers[':status'] ?? 0
    coding = headers['content-encoding']
  })
  stream.on('data', (chunk: Buffer) => pieces.push(chunk))
  stream.on('error', () => {})
  const closed = new Promise<void>((resolve) => stream.on('close', () => resolve()))
  stream.end(order.body)
  if (leaving.how !== 'stays') {
    await Promise.race([reached.promise, closed])
    for (let turns = 0; turns < TURNS; turns += 1) await turn()
    if (leaving.how === 'resets') stream.close(constantsOfHttp2.NGHTTP2_CANCEL)
    else if (leaving.how === 'half-closes') session.close()
    else session.destroy()
    for (let turns = 0; turns < 2; turns += 1) await turn()
    left.resolve()
  }
  await closed
  left.resolve()
  session.destroy()
  const plain = decoded(Buffer.concat(pieces), coding === 'identity' ? undefined : coding)
  return { status, words: plain === null ? null : plain.toString('latin1').split(WORD).length - 1 }
}

function leave(socket: Socket, how: Leaving['how']): void {
  if (how === 'resets') socket.resetAndDestroy()
  else if (how === 'half-closes') socket.end()
  else socket.destroy()
}

/** The words that came: an answer may be cut anywhere. */
function wordsIn(answer: Buffer): number | null {
  const end = answer.indexOf('\r\n\r\n')
  if (end === -1) return 0
  const head = answer.toString('latin1', 0, end).toLowerCase()
  const raw = answer.subarray(end + 4)
  const body = head.includes('transfer-encoding: chunked') ? unchunked(raw) : raw
  const coding = /content-encoding: (\w+)/.exec(head)?.[1]
  const plain = decoded(body, coding)
  return plain === null ? null : plain.toString('latin1').split(WORD).length - 1
}

function decoded(body: Buffer, coding: string | undefined): Buffer | null {
  const zlib = { finishFlush: constants.Z_SYNC_FLUSH }
  try {
    if (coding === 'gzip') return gunzipSync(body, zlib)
    if (coding === 'deflate') return inflateSync(body, zlib)
    if (coding === 'br') return brotliDecompressSync(body, { finishFlush: constants.BROTLI_OPERATION_FLUSH })
    return body
  } catch {
    return null
  }
}

function unchunked(raw: Buffer): Buffer {
  const chunks: Buffer[] = []
  let at = 0
  while (at < raw.length) {
    const line = raw.indexOf('\r\n', at)
    const length = Number.parseInt(raw.toString('latin1', at, line), 16)
    if (line === -1 || !(length > 0)) break
    chunks.push(raw.subarray(line + 2, line + 2 + length))
    at = line + 2 + length + 2
  }
  return Buffer.concat(chunks)
}
