import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'

/**
 * So many looks in a row without a request, rather than a time: after a long turn of the event loop time has passed
 * in which nothing could have been read.
 */
const QUIET_LOOKS = 10
const LOOK_EVERY_MS = 20
/** Balancers have seen `/readyz` say 503 by then, and most clients close connections that idled for 4 s. */
const LONGEST_MS = 5_000
/** A connection that was just made has its request on the way. */
const SILENT_MS = 1_000

/**
 * The last moments in which a server still takes connections. Every answer says `connection: close`, so that clients
 * come back on connections that others accept: one that is closed from here while a request is on its way fails a call
 * that nobody may repeat unasked.
 */
export interface LeaveTaking {
  /**
   * Resolves once no call has come for a moment and no connection idles any more; connections that idle for longer, or
   * never carried a request, are closed after five seconds, and later ones as soon as they have idled for a second.
   * Questions for health do not count as calls.
   */
  begin(): Promise<void>
}

export function openLeaveTaking(server: Server): LeaveTaking {
  let leaving = false
  let quietLooks = 0
  /** Since when, by the monotonic clock. */
  const idle = new Map<Socket, number>()
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    idle.set(socket, performance.now())
    socket.once('close', () => idle.delete(socket))
  })
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    idle.delete(socket)
    response.once('close', () => {
      if (!socket.destroyed) idle.set(socket, performance.now())
    })
    if (!leaving) return
    if (!/\/(healthz|readyz)$/.test(request.url ?? '')) quietLooks = 0
    response.shouldKeepAlive = false
  })
  server.prependListener('upgrade', (request: IncomingMessage) => idle.delete(request.socket))
  return {
    async begin() {
      leaving = true
      quietLooks = 0
      const beganMs = performance.now()
      const isDone = () => quietLooks >= QUIET_LOOKS && idle.size === 0
      for (; !isDone() && performance.now() - beganMs < LONGEST_MS; quietLooks += 1)
        await delay(LOOK_EVERY_MS)
      const endIdle = () => {
        for (const [socket, sinceMs] of idle) if (performance.now() - sinceMs >= SILENT_MS) socket.destroy()
      }
      endIdle()
      // Also those whose answers were under way and had promised to keep the connection: its client would.
      const ending = setInterval(endIdle, SILENT_MS / 2).unref()
      server.once('close', () => clearInterval(ending))
    },
  }
}
