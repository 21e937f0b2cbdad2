import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'

/**
 * So many looks in a row without a request, rather than a time: after a long turn of the event loop time has passed
 * in which nothing could have been read.
 */
const IDLE_CHECKS = 10
const CHECK_EVERY_MS = 20
/** Balancers have seen `/readyz` say 503 by then, and most clients close connections that idled for 4 s. */
const LONGEST_MS = 5_000
/** A connection that was just made has its request on the way. */
const UNUSED_MS = 1_000
/** A connection that just had an answer is the one its client takes for the next call: let it rest first. */
const REUSE_MS = 4_000
const CLOSE_EVERY_MS = 500

/**
 * The last moments in which a server still takes connections. Every answer says `connection: close`, so that clients
 * come back on connections that others accept: one that is closed from here while a request is on its way fails a call
 * that nobody may repeat unasked.
 */
export interface ConnectionDrainer {
  /**
   * Resolves once no call has come for a moment and no connection idles any more, or after five seconds. From then on
   * connections are closed that have idled for four seconds, or for one without ever carrying a request, and the
   * server's `close` closes no other. Questions for health do not count as calls.
   */
  begin(): Promise<void>
}

export function openConnectionDrainer(server: Server): ConnectionDrainer {
  let draining = false
  let idleChecks = 0
  /** When each may be closed, by the monotonic clock. */
  const idle = new Map<Socket, number>()
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    idle.set(socket, performance.now() + UNUSED_MS)
    socket.once('close', () => idle.delete(socket))
  })
  /** Answers under way: of a client that does not wait for one before it asks for the next, several. */
  const answers = new WeakMap<Socket, number>()
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    idle.delete(socket)
    answers.set(socket, (answers.get(socket) ?? 0) + 1)
    response.once('close', () => {
      const left = (answers.get(socket) ?? 1) - 1
      answers.set(socket, left)
      if (left === 0 && !socket.destroyed) idle.set(socket, performance.now() + REUSE_MS)
    })
    if (!draining) return
    if (!/\/(healthz|readyz)$/.test(request.url ?? '')) idleChecks = 0
    response.shouldKeepAlive = false
  }
  server.prependListener('request', onRequest)
  server.prependListener('checkExpectation', onRequest)
  server.prependListener('upgrade', (request: IncomingMessage) => idle.delete(request.socket))
  return {
    async begin() {
      draining = true
      idleChecks = 0
      const beganMs = performance.now()
      const isDone = () => idleChecks >= IDLE_CHECKS && idle.size === 0
      for (; !isDone() && performance.now() - beganMs < LONGEST_MS; idleChecks += 1)
        await delay(CHECK_EVERY_MS)
      const closeIdle = () => {
        for (const [socket, atMs] of idle) if (performance.now() >= atMs) socket.destroy()
      }
      closeIdle()
      // Also those whose answers were under way and had promised to keep the connection: its client would.
      const ending = setInterval(closeIdle, CLOSE_EVERY_MS).unref()
      // As `close` does it unasked, and to those that had an answer a moment ago.
      server.closeIdleConnections = () => {}
      server.once('close', () => clearInterval(ending))
    },
  }
}
