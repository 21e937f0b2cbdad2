import type { Server } from 'node:http'
import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { type TLSSocket, Server as TlsServer } from 'node:tls'
import { connectionsOf } from '../connection-drainer.ts'
import { requestHead } from './request-head.ts'
import { StreamConnection } from './stream-connection.ts'

/** Counts frames of one connection in windows of time. */
class FrameBudget {
  #count = 0
  #sinceMs = Number.NEGATIVE_INFINITY

  /** One more at `nowMs`, of the monotonic clock. False: it is one too many. */
  take(nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= ANSWERED_FRAMES_MS) {
      this.#sinceMs = nowMs
      this.#count = 0
    }
    this.#count += 1
    return this.#count <= MAX_ANSWERED_FRAMES
  }
}

const { NGHTTP2_FLAG_END_STREAM, NGHTTP2_PROTOCOL_ERROR } = constants
/** RFC 9113, 7: the client causes too much work. */
const EXCESSIVE_LOAD = 0xb

/** The names of protocols that a TLS server of both offers, the better one first (RFC 7301). */
export const ALPN_PROTOCOLS = ['h2', 'http/1.1']
/** RFC 9113, 3.4: what a client of HTTP/2 sends first. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const MAX_STREAMS = 100
/**
 * As HTTP/2 counts, with 32 bytes for each field: above what HTTP/1.1 takes, so that a longer head is refused by that in
 * words. From here on a stream is reset.
 */
const MAX_HEADER_LIST_BYTES = 128 * 1024
/** As many fields as Node reads of an HTTP/1.1 head. */
const MAX_FIELDS = 2_000
/** What a client may send of one body, and of all on its connection, before the gateway reads on. */
const STREAM_WINDOW_BYTES = 256 * 1024
const SESSION_WINDOW_BYTES = 2 * 1024 * 1024
const MAX_SESSION_MB = 10
/** Frames that are malformed, or empty: no client sends more than a few. */
const MAX_INVALID_FRAMES = 100
/** PING and SETTINGS, each of which is answered. */
const MAX_ANSWERED_FRAMES = 200
const ANSWERED_FRAMES_MS = 10_000
/** The time that a client has to close its end of a session that is over. */
const CLOSE_MS = 2_000

export interface Http2Front {
  /**
   * For the server's `clientError`: takes over a connection that began with HTTP/2's preface. False: it is in error.
   */
  takesOver(error: NodeJS.ErrnoException, socket: Socket): boolean
  /** Every session is asked for no more streams, and closes with the last that it has. */
  beginDrain(): void
  /** Cuts the streams that are left. */
  closeAll(): void
}

/**
 * Lets clients of `server` speak HTTP/2: by ALPN where it has TLS, else with prior knowledge. Each stream becomes a
 * connection of the server's own ({@link StreamConnection}), so that a call is the same by either protocol. A plain
 * connection costs nothing for it: the parser of HTTP/1.1 stops at HTTP/2's preface by itself.
 *
 * @param idleMs a session without a stream is closed after it
 */
export function serveHttp2(server: Server, idleMs: number): Http2Front {
  /** Each with its connection, and what closes it once it has no stream. */
  const sessions = new Map<ServerHttp2Session, { readonly socket: Socket; close(): void }>()
  let draining = false
  const adopt = server instanceof TlsServer ? serveByAlpn(server, begin) : adoptPlain

  function adoptPlain(connection: StreamConnection): void {
    server.emit('connection', connection)
  }

  function begin(socket: Socket): void {
    const session = performServerHandshake(socket, {
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        maxHeaderListSize: MAX_HEADER_LIST_BYTES,
        initialWindowSize: STREAM_WINDOW_BYTES,
      },
      maxHeaderListPairs: MAX_FIELDS,
      maxSessionMemory: MAX_SESSION_MB,
      maxSessionInvalidFrames: MAX_INVALID_FRAMES,
      maxSessionRejectedStreams: MAX_STREAMS,
      strictSingleValueFields: false,
    } as Parameters<typeof performServerHandshake>[1])
    sessions.set(session, {
      socket,
      close() {
        session.close()
        if (streams === 0) onLastStream()
      },
    })
    session.setLocalWindowSize(SESSION_WINDOW_BYTES)
    let streams = 0
    let timer = setTimeout(onIdle, idleMs)
    function onIdle(): void {
      session.close()
      onLastStream()
    }
    // Node ends the socket of a session that is closed, and waits for its client without an end.
    function onLastStream(): void {
      clearTimeout(timer)
      if (!sessions.has(session)) return
      timer = session.closed ? setTimeout(() => socket.destroy(), CLOSE_MS) : setTimeout(onIdle, idleMs)
    }
    const budget = new FrameBudget()
    const onAnswered = () => {
      if (!budget.take(performance.now())) session.destroy(new Error('too many frames'), EXCESSIVE_LOAD)
    }
    session.on('ping', onAnswered)
    session.on('remoteSettings', onAnswered)
    session.on('error', () => {}) // the client learns of it by GOAWAY
    session.on('close', () => {
      sessions.delete(session)
      clearTimeout(timer)
    })
    session.on('stream', (stream, _headers, flags, rawHeaders: string[]) => {
      streams += 1
      clearTimeout(timer)
      stream.on('error', () => {})
      stream.once('close', () => {
        streams -= 1
        if (streams === 0) onLastStream()
      })
      // Its next one is for another gateway.
      if (draining) session.close()
      // Resets that came in the same read have made it none by then.
      setImmediate(() => beginStream(stream, flags, rawHeaders, socket))
    })
  }

  function beginStream(
    stream: ServerHttp2Stream,
    flags: number,
    rawHeaders: readonly string[],
    socket: Socket,
  ): void {
    if (stream.destroyed || stream.closed || stream.aborted) return
    const hasBody = (flags & NGHTTP2_FLAG_END_STREAM) === 0
    const head = requestHead(rawHeaders, hasBody)
    if (head === null) stream.close(NGHTTP2_PROTOCOL_ERROR)
    else adopt(new StreamConnection(stream, head, hasBody, socket))
  }

  return {
    takesOver(error, socket) {
      if (error.code !== 'HPE_PAUSED_H2_UPGRADE') return false
      const connection = connectionsOf(server).get(socket)
      const { rawPacket, bytesParsed } = error as { rawPacket?: Buffer; bytesParsed?: number }
      // Behind a request it would be another's bytes in the eyes of some proxy.
      if (connection === undefined || connection.isUsed || connection.answers > 0) return false
      const rest = rawPacket?.subarray(bytesParsed) ?? Buffer.alloc(0)
      release(socket, () => {
        socket.unshift(Buffer.concat([PREFACE, rest]))
        begin(socket)
      })
      return true
    },
    beginDrain() {
      draining = true
      for (const { close } of sessions.values()) close()
    },
    closeAll() {
      draining = true
      for (const [session, { socket }] of sessions) {
        session.destroy()
        socket.destroy()
      }
    },
  }
}

/** @returns how the server takes a connection of HTTP/1.1 */
function serveByAlpn(
  server: TlsServer,
  begin: (socket: Socket) => void,
): (connection: StreamConnection) => void {
  const listeners = server.listeners('secureConnection')
  const adopt = (connection: Socket | StreamConnection) => {
    for (const listener of listeners) listener.call(server, connection)
  }
  server.removeAllListeners('secureConnection')
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') begin(socket)
    else adopt(socket)
  })
  return adopt
}

/**
 * Takes a connection from Node's HTTP/1.1 server, which has no way for that beside upgrades: a listener for bytes makes
 * its parser release the handle, and with `close` it drops the connection.
 */
function release(socket: Socket, then: () => void): void {
  const onData = () => {}
  socket.on('data', onData)
  socket.removeAllListeners('data')
  socket.pause()
  const onError = () => socket.destroy()
  socket.removeAllListeners('error')
  socket.on('error', onError)
  // The parser is still at work in this turn.
  setImmediate(() => {
    const closing = socket.listeners('close')
    for (const event of ['close', 'end', 'drain', 'timeout']) socket.removeAllListeners(event)
    for (const listener of closing) listener.call(socket, false)
    socket.setTimeout(0)
    socket.allowHalfOpen = false
    if (!socket.destroyed) then()
    socket.off('error', onError)
  })
}
