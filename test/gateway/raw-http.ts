import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A response as its bytes stood on the wire. */
export interface RawResponse {
  readonly status: number
  /** The status line and each header line, as sent; bytes as latin1. */
  readonly lines: readonly string[]
  readonly body: Buffer
  /** All bytes, from the status line of the first response to the end of the connection. */
  readonly bytes: Buffer
}

/** Sends these bytes on a connection of their own and reads to its end: the request has to ask for `Connection: close`. */
export async function exchange(url: string, request: string | Buffer): Promise<RawResponse> {
  const socket = dial(url)
  socket.write(typeof request === 'string' ? Buffer.from(request, 'latin1') : request)
  return parseResponse(await buffer(socket))
}

/** A connection to the host and port of `url`. Its errors show as its end. */
export function dial(url: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => socket.destroy())
  return socket
}

/** A request's text; `Host` and `Connection: close` are added. */
export function requestText(
  target: string,
  headers: readonly string[] = [],
  method = 'GET',
  body = '',
): string {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: gateway.test',
    'Connection: close',
    ...headers,
    '',
    body,
  ]
  return lines.join('\r\n')
}

export function parseResponse(bytes: Buffer): RawResponse {
  const end = bytes.indexOf('\r\n\r\n')
  const lines = bytes.toString('latin1', 0, end).split('\r\n')
  return { status: Number(lines[0]?.split(' ')[1]), lines, body: bytes.subarray(end + 4), bytes }
}

/** An upstream that answers with bytes as a test writes them, and keeps what it was sent. */
export interface RawUpstream {
  readonly url: string
  /** What each connection has sent so far. */
  readonly received: Buffer[]
  close(): Promise<void>
}

/** `answer` is called once for each connection, when its first request's head is there. */
export async function startRawUpstream(answer: (socket: Socket, head: string) => void): Promise<RawUpstream> {
  const received: Buffer[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    let bytes = Buffer.alloc(0)
    let index = -1
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      if (bytes.includes('GET /v1/models HTTP')) {
        socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
        return
      }
      const isFirst = index === -1
      if (isFirst) {
        if (!bytes.includes('\r\n\r\n')) return
        index = received.push(bytes) - 1
      }
      received[index] = bytes
      if (isFirst) answer(socket, bytes.toString('latin1'))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
