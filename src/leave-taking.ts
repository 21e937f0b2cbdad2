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
/** A balancer has seen `/readyz` say 503 by then, or has used each of its busy connections once. */
const LONGEST_MS = 3_000
/** Who has connected has sent a request by then, or was only connecting ahead. */
const SILENT_MS = 1_000

/**
 * The last moments in which a server still takes connections. Every answer says `connection: close`, so that clients
 * come back on connections that others accept: one that is closed from here while a request is on its way fails a call
 * that nobody may repeat unasked.
 */
export interface LeaveTaking {
  /** Resolves once no call has come for a moment, three seconds later at most. Questions for health do not count. */
  begin(): Promise<void>
  /** To be called when the server has been closed: ends connections that never carried a request, which it would wait for. */
  dismissSilent(): void
}

export function openLeaveTaking(server: Server): LeaveTaking {
  let leaving = false
  let quietLooks = 0
  const silent = new Set<Socket>()
  const onConnection = (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  }
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', onConnection)
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    silent.delete(request.socket)
    if (!leaving) return
    if (!/\/(healthz|readyz)$/.test(request.url ?? '')) quietLooks = 0
    response.shouldKeepAlive = false
  })
  server.prependListener('upgrade', (request: IncomingMessage) => silent.delete(request.socket))
  return {
    async begin() {
      leaving = true
      quietLooks = 0
      const beganMs = performance.now()
      for (; quietLooks < QUIET_LOOKS && performance.now() - beganMs < LONGEST_MS; quietLooks += 1)
        await delay(LOOK_EVERY_MS)
    },
    dismissSilent() {
      setTimeout(() => {
        for (const socket of silent) socket.destroy()
      }, SILENT_MS).unref()
    },
  }
}
