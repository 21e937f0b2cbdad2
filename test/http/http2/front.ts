import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connectionsOf } from '../../../src/http/connection-drainer.ts'
import { DirectRequest } from '../../../src/http/direct-request.ts'
import { ALPN_PROTOCOLS, type Http2Front, serveHttp2 } from '../../../src/http/http2/serve-http2.ts'

export interface TestFront {
  readonly url: string
  readonly front: Http2Front
  readonly server: Server
  /** Codes of what the server took for errors of its clients. */
  readonly errors: string[]
  close(): Promise<void>
}

/** An HTTP/1.1 server whose clients may speak HTTP/2. `tls`: certificate and key. */
export async function startFront(
  listener: RequestListener,
  tls: { readonly cert: string; readonly key: string } | null = null,
  idleMs = 60_000,
): Promise<TestFront> {
  const limits = { IncomingMessage: DirectRequest, requireHostHeader: false, maxHeaderSize: 64 * 1024 }
  const server =
    tls === null
      ? createServer(limits, listener)
      : createTlsServer({ ...limits, ...tls, ALPNProtocols: ALPN_PROTOCOLS }, listener)
  connectionsOf(server)
  const front = serveHttp2(server, idleMs)
  const errors: string[] = []
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (front.takesOver(error, socket as never)) return
    errors.push(error.code ?? '')
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls === null ? 'http' : 'https'}://127.0.0.1:${port}`,
    front,
    server,
    errors,
    async close() {
      front.closeAll()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly trailers: IncomingHttpHeaders | null
  /** The code by which the stream was reset; 0: it ended. */
  readonly code: number
}

/** Opens a session; errors of it show as those of its streams. */
export function openSession(url: string): ClientHttp2Session {
  const session = connect(url, { rejectUnauthorized: false, maxSendHeaderBlockLength: 200_000 })
  session.on('error', () => {})
  return session
}

/** Sends one request and reads all of its answer; a stream that is reset has what came until then. */
export function send(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: Buffer | string,
): Promise<Answer> {
  const stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const pieces: Buffer[] = []
  let head: IncomingHttpHeaders & { ':status'?: number | undefined } = {}
  let trailers: IncomingHttpHeaders | null = null
  stream.on('response', (found) => {
    head = found
  })
  stream.on('trailers', (found) => {
    trailers = found
  })
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  stream.on('error', () => {})
  return new Promise((resolve) =>
    stream.on('close', () => {
      const { ':status': status = 0, ...rest } = head
      resolve({
        status,
        headers: fieldsOf(rest),
        body: Buffer.concat(pieces),
        trailers: trailers && fieldsOf(trailers),
        code: stream.rstCode ?? 0,
      })
    }),
  )
}

/** Without what Node adds under a symbol. */
function fieldsOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers))
}
