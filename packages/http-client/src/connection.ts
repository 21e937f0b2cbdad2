import type { Socket } from 'node:net'
import { UpstreamError } from './answer-handler.ts'
import type { Connector } from './connector.ts'
import { ResponseParser } from './response-parser.ts'
import { Upload, type UploadListener, withoutBody } from './upload.ts'
import { type Carrier, errorOf, type UpstreamRequest } from './upstream-request.ts'

/** A body up to this goes out in one piece with its head: copying it costs less than a second piece. */
const JOINED_BODY_BYTES = 16 * 1024

/** How long a connection may wait for what. 0: for ever. */
export interface WaitingLimits {
  /** For the connection, with its TLS. */
  readonly connectMs: number
  /** From the request to the head of its answer. */
  readonly headersMs: number
  /** From one piece of a body to the next. */
  readonly bodyMs: number
}

/** How much later than asked a limit may be noticed, at most twice. */
const TICK_MS = 250

/**
 * The time of a pool, in ticks: one timer for all connections, so that none is set or cleared for a request. A
 * tick that comes late counts once: while the process was busy, an answer may have come unread.
 */
export class PoolClock {
  #tick = 0
  #timer: NodeJS.Timeout | null = null
  #tickedAtMs = 0
  #lastLateMs = 0
  readonly #connectTicks: number
  readonly #headersTicks: number
  readonly #bodyTicks: number

  constructor({ connectMs, headersMs, bodyMs }: WaitingLimits) {
    this.#connectTicks = ticksOf(connectMs)
    this.#headersTicks = ticksOf(headersMs)
    this.#bodyTicks = ticksOf(bodyMs)
  }

  get isRunning(): boolean {
    return this.#timer !== null
  }

  /** The tick at which a wait that begins now has been too long. */
  deadlineIn(wait: 'connect' | 'headers' | 'body'): number {
    if (wait === 'body') return this.#tick + this.#bodyTicks
    return this.#tick + (wait === 'headers' ? this.#headersTicks : this.#connectTicks)
  }

  start(onTick: (tick: number) => void): void {
    if (this.#timer !== null) return
    this.#tickedAtMs = performance.now()
    this.#lastLateMs = 0
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      this.#lastLateMs = this.#lateMs(nowMs)
      this.#tickedAtMs = nowMs
      this.#tick += 1
      onTick(this.#tick)
    }, TICK_MS).unref()
  }

  /** For how long at most what is read at `nowMs` may have lain unread, because the process was busy. */
  unreadMs(nowMs: number): number {
    return this.#lastLateMs + this.#lateMs(nowMs)
  }

  #lateMs(nowMs: number): number {
    return Math.max(0, nowMs - this.#tickedAtMs - TICK_MS)
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }
}

/** One more, since a wait begins within a tick: it must not be cut short. */
function ticksOf(ms: number): number {
  return ms === 0 ? Number.POSITIVE_INFINITY : Math.ceil(ms / TICK_MS) + 1
}

/** The pool learns of its connections by this. */
export interface ConnectionOwner {
  readonly clock: PoolClock
  /** The connection is there, for the request that it was opened for. */
  opened(connection: Connection): void
  /**
   * It may carry a request.
   * @param keepAliveSeconds what the server says; -1: nothing; `null`: it was not asked again
   */
  released(connection: Connection, keepAliveSeconds: number | null): void
  /** It is closed. Called once. */
  closed(connection: Connection): void
}

/** One connection to an upstream: one request at a time, the next when the answer was read to its end. */
export class Connection implements Carrier, UploadListener {
  /** Opened for it or chosen for it, and not begun. */
  waiting: UpstreamRequest | null
  /** Milliseconds of `performance.now()` until which it may wait for a request. */
  keptUntil = 0
  readonly #owner: ConnectionOwner
  readonly #socket: Socket
  readonly #parser = new ResponseParser()
  #isConnected = false
  #isClosed = false
  #request: UpstreamRequest | null = null
  #upload: Upload | null = null
  #headPassed = false
  #isDelivering = false
  /** The tick of the pool's clock at which it has waited for too long. */
  #deadline: number

  constructor(owner: ConnectionOwner, request: UpstreamRequest, connector: Connector) {
    this.#owner = owner
    this.waiting = request
    this.#deadline = owner.clock.deadlineIn('connect')
    this.#socket = connector.connect(
      () => {
        this.#isConnected = true
        owner.opened(this)
      },
      (bytes) => this.#onData(bytes),
    )
    this.#socket.on('end', () => this.#onEnd())
    this.#socket.on('error', (error) => this.#close(error))
    this.#socket.on('close', () => this.#close(new UpstreamError('closed', 'the connection was closed')))
  }

  /** A request may be sent on it, as far as is known. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#socket.destroyed
  }

  /** Sends the request that waits for this connection, unless its handler wants it no more. */
  start(): void {
    const request = this.waiting
    if (request === null) return
    this.waiting = null
    if (!request.begin()) {
      this.#owner.released(this, null)
      return
    }
    this.#request = request
    request.carrier = this
    this.#parser.begin(request.isHead)
    this.#headPassed = false
    this.#deadline = this.#owner.clock.deadlineIn('headers')
    this.#send(request)
    if (request.paused) this.pauseReading()
  }

  pauseReading(): void {
    this.#socket.pause()
  }

  resumeReading(): void {
    const request = this.#request
    if (request === null) return
    if (this.#isDelivering) {
      this.#socket.resume()
      return
    }
    this.#deadline = this.#owner.clock.deadlineIn(this.#headPassed ? 'body' : 'headers')
    this.#deliver(request)
    // If that was its end, another request may be here by now.
    if (this.#request?.paused !== true) this.#socket.resume()
  }

  drop(): void {
    this.#request = null
    this.#stopUpload()
    this.#socket.destroy()
  }

  /** Ends the connection and what is on it. */
  destroy(error: Error): void {
    const request = this.#request
    this.#request = null
    this.#close(error)
    request?.fail(error)
  }

  uploadStalled(): void {
    if (!this.#headPassed) this.#deadline = this.#owner.clock.deadlineIn('headers')
  }

  uploadEnded(error: Error | null): void {
    this.#upload = null
    if (error !== null) this.#request?.abort(error)
    else if (!this.#headPassed) this.#deadline = this.#owner.clock.deadlineIn('headers')
  }

  /** Looks whether it has waited for too long. */
  check(tick: number): void {
    if (tick < this.#deadline) return
    const request = this.#request
    if (!this.#isConnected) {
      this.#close(new UpstreamError('connect_timeout', 'the upstream did not accept the connection in time'))
    } else if (request === null || request.paused) {
      this.#deadline = Number.POSITIVE_INFINITY
    } else if (this.#headPassed) {
      this.#close(new UpstreamError('body_timeout', 'the upstream was silent for too long in its answer'))
    } else if (this.#upload !== null && !this.#socket.writableNeedDrain) {
      // The client is the one that is waited for.
      this.#deadline = this.#owner.clock.deadlineIn('headers')
    } else {
      this.#close(new UpstreamError('headers_timeout', 'the upstream did not answer in time'))
    }
  }

  #send(request: UpstreamRequest): void {
    const { head, body } = request
    const socket = this.#socket
    if (body === null) {
      socket.write(withoutBody(head), 'latin1')
    } else if (!Buffer.isBuffer(body)) {
      this.#upload = new Upload(socket, body, head, this)
    } else {
      const text = `${head.text}content-length: ${body.length}\r\n\r\n`
      if (body.length <= JOINED_BODY_BYTES) {
        const bytes = Buffer.allocUnsafe(text.length + body.length)
        bytes.write(text, 0, 'latin1')
        body.copy(bytes, text.length)
        socket.write(bytes)
      } else {
        socket.cork()
        socket.write(text, 'latin1')
        socket.write(body)
        socket.uncork()
      }
      request.dropBody()
    }
  }

  #onData(bytes: Buffer): void {
    const request = this.#request
    if (request === null || this.#upload?.hasBegun === false) {
      // Nothing was asked: the next request must not get this for its answer.
      this.#close(new UpstreamError('malformed_answer', 'the upstream answered before it was asked'))
      return
    }
    const parser = this.#parser
    const { interimAnswers } = parser
    parser.read(bytes)
    if (parser.head !== null) this.#deadline = this.#owner.clock.deadlineIn('body')
    else if (parser.interimAnswers > interimAnswers) this.#deadline = this.#owner.clock.deadlineIn('headers')
    this.#deliver(request)
  }

  #onEnd(): void {
    const request = this.#request
    if (request === null) {
      this.#socket.destroy()
      return
    }
    this.#parser.end()
    this.#deliver(request)
  }

  /** Passes on what was read, as far as the handler takes it. */
  #deliver(request: UpstreamRequest): void {
    const parser = this.#parser
    this.#isDelivering = true
    try {
      this.#passOn(request)
    } catch (error) {
      request.abort(errorOf(error))
    } finally {
      this.#isDelivering = false
    }
    if (request.isOver || request.paused) return
    if (parser.isComplete) this.#finish(request)
    else if (parser.problem !== null) this.#close(new UpstreamError('malformed_answer', parser.problem))
  }

  #passOn(request: UpstreamRequest): void {
    const { head } = this.#parser
    if (head === null || request.paused) return
    if (!this.#headPassed) {
      this.#headPassed = true
      request.rawHeaders = head.rawHeaders
      request.handler.onResponseStart(request, head.status, head.headers, head.reason)
      if (request.isOver) return
    }
    if (request.paused) return
    const body = this.#parser.takeBody()
    if (body === null) return
    request.isWhole = this.#parser.isComplete
    request.handler.onResponseData(request, body)
  }

  #finish(request: UpstreamRequest): void {
    const parser = this.#parser
    const { trailers } = parser
    this.#request = null
    request.carrier = null
    request.isOver = true
    if (this.#canBeKept(request)) {
      this.#owner.released(this, parser.head?.keepAliveSeconds ?? -1)
    } else {
      this.#stopUpload()
      this.#socket.destroy()
    }
    try {
      request.handler.onResponseEnd(request, trailers)
    } catch (error) {
      request.handler.onResponseError(request, errorOf(error))
    }
  }

  /** Behind a request that was not sent to its end, the server would look for the rest of it. */
  #canBeKept({ isHead, head, hasBody }: UpstreamRequest): boolean {
    if (isHead || this.#upload !== null || !this.#parser.keepsConnection) return false
    // Servers have been seen to ignore such a body, and to take it for the next request.
    if (hasBody && !head.takesBody) return false
    const socket = this.#socket
    return socket.writableLength === 0 && !socket.destroyed && socket.readable
  }

  #stopUpload(): void {
    this.#upload?.stop()
    this.#upload = null
  }

  #close(error: Error): void {
    const request = this.#request ?? (this.#isConnected ? null : this.waiting)
    // An answer that was read to its end waits for its handler, whatever becomes of the connection.
    const isWhole = this.#request !== null && this.#parser.isComplete
    if (!isWhole) {
      this.#request = null
      this.#stopUpload()
    }
    this.#socket.destroy()
    try {
      if (!isWhole) request?.fail(error)
    } finally {
      if (!this.#isClosed) {
        this.#isClosed = true
        this.#owner.closed(this)
      }
    }
  }
}
