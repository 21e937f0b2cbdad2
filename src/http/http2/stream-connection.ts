import {
  constants,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { ResponseParser } from '#http-client/response-parser.ts'
import type { WrittenHead } from './request-head.ts'

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants
/** The time that a client has to read what was written of an answer that is cut. */
const CUT_MS = 2_000
const CRLF = Buffer.from('\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/**
 * One stream of an HTTP/2 session, as a connection that carries one HTTP/1.1 request. A server takes it like any other
 * connection: what it reads is the request, what it writes goes to the stream, and its end cuts the stream. A client
 * that resets the stream has closed this connection.
 */
export class StreamConnection extends Duplex {
  /** The connection of its session. */
  readonly session: Socket
  readonly encrypted: boolean
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly remoteFamily: string | undefined
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
  readonly #stream: ServerHttp2Stream
  readonly #isChunked: boolean
  readonly #answer = new ResponseParser()
  #hasHead = false
  #interimAnswers = 0
  #isWhole = false
  /** A piece of the answer is on its way to the client. */
  #isWriting = false
  #onWritten: (() => void) | null = null

  constructor(stream: ServerHttp2Stream, head: WrittenHead, hasBody: boolean, socket: Socket) {
    super()
    this.#stream = stream
    this.#isChunked = head.isChunked
    this.session = socket
    this.encrypted = 'encrypted' in socket && socket.encrypted === true
    this.remoteAddress = socket.remoteAddress
    this.remotePort = socket.remotePort
    this.remoteFamily = socket.remoteFamily
    this.localAddress = socket.localAddress
    this.localPort = socket.localPort
    this.#answer.begin(head.method === 'HEAD')
    this.push(Buffer.from(head.text, 'latin1'))
    if (hasBody) this.#readBody()
    else stream.resume()
    stream.on('timeout', () => this.emit('timeout'))
    stream.on('aborted', () => this.destroy())
    stream.on('close', () => {
      // The client has the whole answer: the server has to hear of that first.
      if (this.#isWhole && stream.rstCode === NGHTTP2_NO_ERROR) setImmediate(() => this.destroy())
      else this.destroy()
    })
  }

  #readBody(): void {
    const stream = this.#stream
    stream.on('data', (chunk: Buffer) => {
      if (this.destroyed || chunk.length === 0) return
      const framed = this.#isChunked
        ? Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, CRLF])
        : chunk
      if (!this.push(framed)) stream.pause()
    })
    const end = () => {
      if (this.#isChunked && !stream.aborted && !this.destroyed) this.push(LAST_CHUNK)
    }
    if (stream.readableEnded) end()
    else stream.on('end', end)
  }

  /** Node's own sockets have these. */
  setTimeout(ms: number, callback?: () => void): this {
    if (callback !== undefined) this.once('timeout', callback)
    if (!this.#stream.destroyed) this.#stream.setTimeout(ms)
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  override _read(): void {
    if (!this.#stream.destroyed && this.#stream.isPaused()) this.#stream.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#pass([chunk], callback)
  }

  override _writev(chunks: { readonly chunk: Buffer }[], callback: () => void): void {
    this.#pass(
      chunks.map(({ chunk }) => chunk),
      callback,
    )
  }

  override _final(callback: () => void): void {
    callback()
    if (!this.#isWhole) this.destroy()
  }

  /** The server has closed the connection: an answer that is not whole by then is cut. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const stream = this.#stream
    callback(error)
    if (stream.destroyed || this.#isWhole) return
    if (this.#isWriting) {
      // Node would drop what waits for the client's window.
      const cut = () => stream.close(NGHTTP2_INTERNAL_ERROR)
      this.#onWritten = cut
      stream.setTimeout(CUT_MS, cut)
    } else stream.close(NGHTTP2_INTERNAL_ERROR)
  }

  /** Calls back once the client's window has taken the pieces. */
  #pass(pieces: readonly Buffer[], callback: () => void): void {
    const stream = this.#stream
    if (stream.destroyed || stream.closed) {
      this.destroy()
      return
    }
    stream.cork()
    let last: Buffer | null = null
    for (const piece of pieces) {
      this.#answer.read(piece)
      const body = this.#answer.takeBody()
      if (!this.#passHead(body !== null)) {
        stream.uncork()
        this.destroy()
        return
      }
      if (body === null) continue
      if (last !== null) stream.write(last)
      last = body
    }
    if (this.#answer.problem !== null) {
      stream.uncork()
      this.destroy()
      return
    }
    const written = () => {
      this.#isWriting = false
      this.#onWritten?.()
      callback()
    }
    this.#isWriting = last !== null
    if (last !== null) stream.write(last, (error) => (error ? this.destroy() : written()))
    stream.uncork()
    if (this.#answer.isComplete) this.#endAnswer()
    if (last === null) callback()
  }

  /** False: HTTP/2 cannot carry it. */
  #passHead(hasBody: boolean): boolean {
    const stream = this.#stream
    const { head, interimAnswers, isComplete, trailers } = this.#answer
    if (this.#hasHead) return true
    if (interimAnswers > this.#interimAnswers) {
      this.#interimAnswers = interimAnswers
      stream.additionalHeaders({ ':status': 100 })
    }
    if (head === null) return true
    this.#hasHead = true
    // RFC 9110, 15: HTTP/1.1 has more of them, and Node throws.
    if (head.status > 599) return false
    const endStream = isComplete && !hasBody && trailers === null
    const waitForTrailers = head.isChunked && !endStream
    if (waitForTrailers) {
      stream.on('wantTrailers', () => {
        const trailers = this.#answer.trailers ?? {}
        const raw = Object.entries(trailers).flatMap(([name, value]) =>
          [value ?? []].flat().flatMap((one) => [name, one]),
        )
        stream.sendTrailers(answerFields(raw))
      })
    }
    const fields = answerFields(head.rawHeaders)
    fields[':status'] = head.status
    // HTTP/1.1 has written a date, where there is to be one.
    stream.respond(fields, { endStream, waitForTrailers, sendDate: false } as ServerStreamResponseOptions)
    return true
  }

  #endAnswer(): void {
    if (this.#isWhole) return
    this.#isWhole = true
    const stream = this.#stream
    // RFC 9113, 8.1: an answer may end before its request does, and then no more of that is wanted.
    if (!stream.readableEnded)
      stream.once('finish', () => {
        if (!stream.readableEnded) stream.close(NGHTTP2_NO_ERROR)
      })
    if (!stream.writableEnded) stream.end()
  }
}

/** Fields of one connection. HTTP/2 has none of them, and Node throws for each (RFC 9113, 8.2.2). */
const OF_CONNECTION = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * The fields of an answer or of its trailers that HTTP/2 carries, by their lower-case names.
 *
 * @param rawHeaders as HTTP/1.1 wrote them: name, value, name, value, ...
 */
function answerFields(rawHeaders: readonly string[]): OutgoingHttpHeaders {
  const fields: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    const value = rawHeaders[i + 1] ?? ''
    if (OF_CONNECTION.has(name)) continue
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (typeof before === 'string') fields[name] = [before, value]
    else before.push(value)
  }
  return fields
}
