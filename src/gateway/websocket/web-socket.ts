import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Caller } from '../../call/call-ports.ts'
import type { CallRefusal } from '../../http/errors.ts'
import { callLater } from '../../lib/call-later.ts'
import { Admission, type AdmissionOptions } from '../admission/admission.ts'
import { admit, countRefusal, MOMENTS } from '../admission/admit.ts'
import { refuse } from './send-handshake.ts'
import { Session, type SessionOptions } from './session.ts'
import { POLICY_VIOLATION } from './session-streams.ts'

export interface WebSocketOptions extends SessionOptions {
  readonly admission: AdmissionOptions
  /** Calls back when a key stops being active; returns how to stop listening. */
  readonly onDeactivated: (listener: (keyId: string) => void) => () => void
}

/** The open sessions of a server, which a stopping process has to end. */
export interface WebSocketSessions {
  readonly count: number
  /** Closes them all (1001, going away); resolves when their records are written. */
  closeAll(): Promise<void>
}

/** RFC 6455 section 7.4.1. */
const GOING_AWAY = 1001

/** What became of a token is seen so late. */
const JUDGED_EVERY_MS = 1_000

/** More than this waits in the socket: no client has to send anything before its handshake is answered. */
const MAX_BYTES = 64 * 1024

/**
 * Reads a client whose handshake waits for a stage: the end of an unread connection is not seen. A client that ends
 * its side before it has its answer has left, as over HTTP, and its connection is closed.
 */
class HandshakeWatch {
  readonly #socket: Duplex
  readonly #early: Buffer[]
  readonly #starting: NodeJS.Immediate
  #bytes = 0

  /** @param head What came with the handshake. */
  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket
    this.#early = [head]
    // Most handshakes do not wait, and are not read here at all.
    this.#starting = setImmediate(() => {
      socket.on('data', this.#onData)
      socket.on('end', this.#onEnd)
    })
  }

  /** What came by now. The session has to read the socket from here on. */
  stop(): Buffer {
    clearImmediate(this.#starting)
    this.#socket.removeListener('data', this.#onData)
    this.#socket.removeListener('end', this.#onEnd)
    return this.#early.length === 1 ? (this.#early[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#early)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#early.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > MAX_BYTES) this.#socket.pause()
  }

  readonly #onEnd = (): void => {
    this.#socket.destroy()
  }
}

/**
 * Admits the handshakes of WebSockets and passes sessions through, byte for byte. The upstream accepts or
 * rejects the handshake. Then both directions are connected, each with its own back-pressure, and the
 * upstream's frames are read for their usage.
 */
export function acceptWebSockets(server: Server, options: WebSocketOptions): WebSocketSessions {
  const sessions = new Set<Session>()
  options.onDeactivated((keyId) => {
    for (const session of sessions) if (session.call.keyId === keyId) session.close(POLICY_VIOLATION)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const admission = new Admission(request, socket, true, options.admission.now())
    const watch = new HandshakeWatch(socket, head)
    void admitHandshake(admission, options.admission).then((refusal) => {
      const early = watch.stop()
      if (refusal !== null || socket.destroyed) {
        admission.release()
        if (refusal === null) return
        countRefusal(refusal, admission, options.admission)
        refuse(socket, admission, refusal.error, refusal.detail)
        return
      }
      let endsLater = () => {}
      const session = new Session(options, admission, socket, early, () => {
        endsLater()
        sessions.delete(session)
        admission.release()
      })
      sessions.add(session)
      session.start()
      endsLater = endWithToken(session, admission.caller, options.admission.now())
    })
  })
  return {
    get count() {
      return sessions.size
    },
    async closeAll() {
      await Promise.all([...sessions].map((session) => session.close(GOING_AWAY)))
    },
  }
}

/** Ends a session with the token that it was opened by. Returns how to stop watching that. */
function endWithToken(session: Session, { tokenEndsAtMs, isTokenOver }: Caller, nowMs: number): () => void {
  if (tokenEndsAtMs === undefined || isTokenOver === undefined) return () => {}
  const close = (reason: string) => void session.close(POLICY_VIOLATION, reason)
  const cancel = callLater(tokenEndsAtMs - nowMs, () => close('the token has expired'))
  const timer = setInterval(() => {
    if (isTokenOver()) close('the token is revoked')
  }, JUDGED_EVERY_MS).unref()
  return () => {
    cancel()
    clearInterval(timer)
  }
}

/**
 * A handshake has no body and names its model in its query, so nothing has to be read between the moments.
 */
async function admitHandshake(admission: Admission, options: AdmissionOptions): Promise<CallRefusal | null> {
  for (const moment of MOMENTS) {
    const refusal = await admit(moment, admission, options)
    if (refusal !== null) return refusal
  }
  return null
}
