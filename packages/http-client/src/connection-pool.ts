import type { Readable } from 'node:stream'
import type { AnswerHandler } from './answer-handler.ts'
import { UpstreamError } from './answer-handler.ts'
import { Connection, type ConnectionOwner, PoolClock, type WaitingLimits } from './connection.ts'
import { Connector } from './connector.ts'
import { destroyBody, errorOf, type RequestToSend, UpstreamRequest } from './upstream-request.ts'

/** Less than the five seconds after which Node and many other servers close an idle connection. */
const KEPT_MS = 4_000
/** A server that says for how long it keeps a connection is left this much before the end of it. */
const BEFORE_SERVER_CLOSES_MS = 1_000
/** Nothing is kept for longer, whatever a server says. */
const MAX_KEPT_MS = 600_000

/**
 * Connections to one origin over HTTP/1.1, as many as there are requests under way. One that is free is used
 * again, the last one first, so that those that are not needed close.
 */
export class ConnectionPool implements ConnectionOwner {
  readonly clock: PoolClock
  readonly #connector: Connector
  readonly #keepAlive: boolean
  readonly #connections = new Set<Connection>()
  /** Those that are free, the last used at the end. One that was closed meanwhile is left out when it is met. */
  #kept: Connection[] = []
  /** Those whose answers ended in this turn of the event loop, and in the one before it. */
  #fresh: Connection[] = []
  #settling: Connection[] = []
  #isTurning = false
  #isClosed = false
  #isRetired = false
  #onEmpty: (() => void)[] = []

  /**
   * @param origin `scheme://host[:port]`
   * @param keepAlive `false`: each request has a connection of its own, and says so.
   */
  constructor(origin: string, limits: WaitingLimits, keepAlive = true) {
    this.#keepAlive = keepAlive
    this.#connector = new Connector(origin)
    this.clock = new PoolClock(limits)
  }

  /** How many connections there are, and how many of them wait for a request. */
  get size(): { readonly open: number; readonly kept: number } {
    return { open: this.#connections.size, kept: this.#free().filter(({ isOpen }) => isOpen).length }
  }

  /**
   * Sends one request; `handler` gets its answer, or why there is none. It is never sent twice. Before this
   * returns, the handler hears at most that the request begins, or that it cannot be sent.
   */
  dispatch(toSend: RequestToSend, handler: AnswerHandler): void {
    const { body } = toSend
    // Before it is read, an error of it would otherwise end the process.
    if (body !== null && !Buffer.isBuffer(body)) body.on('error', ignore)
    let request: UpstreamRequest
    try {
      request = new UpstreamRequest(toSend, handler, this.#keepAlive)
    } catch (error) {
      refuse(body, handler, errorOf(error))
      return
    }
    if (this.#isClosed) request.fail(new UpstreamError('pool_closed', 'the pool is closed'))
    else this.#assign(request)
  }

  /**
   * Keeps no connection from now on. Requests may go on to come, each on a connection of its own:
   * behind the last one, nothing of it is left.
   */
  retire(): void {
    this.#isRetired = true
    const free = this.#free()
    this.#dropFree()
    for (const connection of free) connection.destroy(poolClosed())
  }

  /** Ends all requests; resolves when their connections are closed. */
  async destroy(): Promise<void> {
    this.#isClosed = true
    this.#dropFree()
    for (const connection of this.#connections) connection.destroy(poolClosed())
    await this.#empty()
  }

  opened(connection: Connection): void {
    connection.start()
  }

  released(connection: Connection, keepAliveSeconds: number | null): void {
    const now = performance.now()
    if (keepAliveSeconds !== null || connection.keptUntil === 0) {
      // The server counts from when it sent the answer.
      connection.keptUntil = now + keptMsOf(keepAliveSeconds) - this.clock.unreadMs(now)
    }
    if (this.#isClosed || this.#isRetired || !this.#keepAlive || connection.keptUntil <= now)
      connection.drop()
    else if (keepAliveSeconds === null) this.#kept.push(connection)
    else this.#settle(connection)
  }

  closed(connection: Connection): void {
    this.#connections.delete(connection)
    if (this.#connections.size > 0) return
    this.clock.stop()
    this.#dropFree()
    const waiting = this.#onEmpty
    this.#onEmpty = []
    for (const resolve of waiting) resolve()
  }

  #assign(request: UpstreamRequest): void {
    const connection = this.#takeKept()
    if (connection === null) {
      this.#open(request)
      return
    }
    // At once: another turn of the event loop costs a fifth of a call. Calls are sent from the end of a turn, when
    // what the other end has closed meanwhile was heard of.
    connection.waiting = request
    connection.start()
  }

  /**
   * The end of a connection, or bytes that no one asked for, right behind an answer are heard of in the next turn
   * of the event loop: until then, no request goes out on the connection. A turn is not made for it.
   */
  #settle(connection: Connection): void {
    this.#fresh.push(connection)
    if (this.#isTurning) return
    this.#isTurning = true
    setImmediate(this.#onTurnEnd).unref()
  }

  #onTurnEnd = (): void => {
    for (const connection of this.#settling) this.#kept.push(connection)
    this.#settling = this.#fresh
    this.#fresh = []
    this.#isTurning = this.#settling.length > 0
    if (this.#isTurning) setImmediate(this.#onTurnEnd).unref()
  }

  #free(): Connection[] {
    return [...this.#kept, ...this.#settling, ...this.#fresh]
  }

  #dropFree(): void {
    this.#kept = []
    this.#settling = []
    this.#fresh = []
  }

  #takeKept(): Connection | null {
    const now = performance.now()
    for (;;) {
      const connection = this.#kept.pop()
      if (connection === undefined) return null
      if (!connection.isOpen) continue
      if (connection.keptUntil > now) return connection
      connection.drop()
    }
  }

  #open(request: UpstreamRequest): void {
    this.clock.start(this.#onTick)
    const connection = new Connection(this, request, this.#connector)
    this.#connections.add(connection)
  }

  #onTick = (tick: number): void => {
    for (const connection of this.#connections) connection.check(tick)
    const now = performance.now()
    this.#kept = this.#kept.filter((connection) => {
      if (!connection.isOpen) return false
      if (connection.keptUntil > now) return true
      connection.drop()
      return false
    })
  }

  #empty(): Promise<void> {
    if (this.#connections.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onEmpty.push(resolve))
  }
}

/** @param keepAliveSeconds what the server says; -1 or `null`: nothing */
function keptMsOf(keepAliveSeconds: number | null): number {
  if (keepAliveSeconds === null || keepAliveSeconds < 0) return KEPT_MS
  return Math.min(keepAliveSeconds * 1000 - BEFORE_SERVER_CLOSES_MS, MAX_KEPT_MS)
}

function poolClosed(): UpstreamError {
  return new UpstreamError('pool_closed', 'the pool is closed')
}

function refuse(body: Buffer | Readable | null, handler: AnswerHandler, error: Error): void {
  try {
    handler.onResponseError(null, error)
  } finally {
    destroyBody(body)
  }
}

function ignore(): void {}
