import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/** A connection of a client. */
export interface ClientConnection {
  /** Answers under way: several if its client sends requests without waiting. */
  answers: number
  /** Since when it has had none, by the monotonic clock. */
  idleSinceMs: number
  /** Whether it has carried an answer. */
  isUsed: boolean
}

const byServer = new WeakMap<Server, Map<Socket, ClientConnection>>()

/** The server's open connections, but for those of WebSockets. To be asked for before the first one is made. */
export function connectionsOf(server: Server): ReadonlyMap<Socket, ClientConnection> {
  const known = byServer.get(server)
  if (known !== undefined) return known
  const connections = new Map<Socket, ClientConnection>()
  byServer.set(server, connections)
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, { answers: 0, idleSinceMs: performance.now(), isUsed: false })
    socket.once('close', () => connections.delete(socket))
  })
  // One listener for all answers: it runs for every call.
  function onAnswered(this: ServerResponse): void {
    const connection = connections.get(this.req.socket)
    if (connection === undefined) return
    connection.answers -= 1
    connection.idleSinceMs = performance.now()
    connection.isUsed = true
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)
    if (connection === undefined) return
    connection.answers += 1
    response.on('close', onAnswered)
  }
  server.prependListener('request', onRequest)
  server.prependListener('checkExpectation', onRequest)
  server.prependListener('upgrade', (request: IncomingMessage) => connections.delete(request.socket))
  return connections
}
