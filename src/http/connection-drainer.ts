import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'

/**
 * Counted in checks without a request, and not in time: during a long turn of the event loop, time passes in
 * which no request could have been read.
 */
const IDLE_CHECKS = 10
const CHECK_EVERY_MS = 20
/**
 * By then, balancers have seen `/readyz` answer 503, and most clients have closed connections that idled for
 * 4 s.
 */
const LONGEST_MS = 5_000
/** The request of a new connection may be on its way. */
const UNUSED_MS = 1_000
/**
 * A client uses the connection of its last answer for its next call, so that connection is kept for a while.
 */
const REUSE_MS = 4_000
const CLOSE_EVERY_MS = 500

/**
 * The last moments in which a server still takes connections. Every answer says `connection: close`, so that
 * clients come back on connections that others accept. Closing a connection from here while a request is on
 * its way would fail a call that a client may not repeat by itself.
 */
export interface ConnectionDrainer {
  /**
   * Resolves once no call has come for a moment and no connection idles any more, or after five seconds. From
   * then on connections are closed that have idled for four seconds, or for one without ever carrying a
   * request, and the server's `close` closes no other. Health checks do not count as calls.
   */
  begin(): Promise<void>
}

interface ClientConnection {
  /** Answers under way: several if its client sends requests without waiting. */
  answers: number
  /** Since when it has had none, by the monotonic clock. */
  idleSinceMs: number
  /** It has carried an answer. */
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

export function openConnectionDrainer(server: Server): ConnectionDrainer {
  let draining = false
  let idleChecks = 0
  const connections = connectionsOf(server)
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (!draining) return
    if (!/\/(healthz|readyz)$/.test(request.url ?? '')) idleChecks = 0
    response.shouldKeepAlive = false
  }
  server.prependListener('request', onRequest)
  server.prependListener('checkExpectation', onRequest)
  return {
    async begin() {
      draining = true
      idleChecks = 0
      const beganMs = performance.now()
      const isBusy = ({ answers }: ClientConnection) => answers > 0
      const isDone = () => idleChecks >= IDLE_CHECKS && [...connections.values()].every(isBusy)
      for (; !isDone() && performance.now() - beganMs < LONGEST_MS; idleChecks += 1)
        await delay(CHECK_EVERY_MS)
      const closeIdle = () => {
        for (const [socket, { answers, idleSinceMs, isUsed }] of connections)
          if (answers === 0 && performance.now() - idleSinceMs >= (isUsed ? REUSE_MS : UNUSED_MS))
            socket.destroy()
      }
      closeIdle()
      // Some answers that were under way had promised to keep their connection: these are closed once they
      // are idle, too.
      const ending = setInterval(closeIdle, CLOSE_EVERY_MS).unref()
      // `close` would call this, and close connections that had an answer a moment ago.
      server.closeIdleConnections = () => {}
      server.once('close', () => clearInterval(ending))
    },
  }
}
