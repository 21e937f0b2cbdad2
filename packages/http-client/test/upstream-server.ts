import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'

/** A server of bytes: what it answers is the test's. */
export interface UpstreamServer {
  readonly origin: string
  /** All connections that were ever accepted. */
  readonly sockets: readonly Socket[]
  /** What came on each of them, in latin1 characters. */
  readonly received: readonly string[]
  close(): Promise<void>
}

/** @param onData called with every piece that comes */
export async function startUpstreamServer(
  onData: (socket: Socket, text: string, connection: number) => void,
): Promise<UpstreamServer> {
  const sockets: Socket[] = []
  const received: string[] = []
  const server: Server = createServer((socket) => {
    const connection = sockets.push(socket) - 1
    received.push('')
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      received[connection] += text
      onData(socket, text, connection)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    received,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A whole answer of that body. */
export const answerOf = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
