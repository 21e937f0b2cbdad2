import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** Clients that call more seldom than this on one connection meet its end at a moment when they are silent. */
const QUIET_MS = 200
/** A busy balancer has used each of its connections once by then, or has seen `/readyz` say 503. */
const LONGEST_MS = 1_000
const LOOK_EVERY_MS = 20

/**
 * The last moments in which a server still takes connections. Every answer says `connection: close`, so that clients
 * come back on connections that others accept: one that is closed from here while a request is on its way fails a call
 * that nobody may repeat unasked.
 */
export interface LeaveTaking {
  /** Resolves once no request has come for a while, a second later at most. */
  begin(): Promise<void>
}

export function openLeaveTaking(server: Server): LeaveTaking {
  let leaving = false
  let lastRequestMs = 0
  server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
    if (!leaving) return
    lastRequestMs = performance.now()
    response.shouldKeepAlive = false
  })
  return {
    async begin() {
      leaving = true
      const beganMs = performance.now()
      lastRequestMs = beganMs
      while (performance.now() - lastRequestMs < QUIET_MS && performance.now() - beganMs < LONGEST_MS)
        await delay(LOOK_EVERY_MS)
    },
  }
}
