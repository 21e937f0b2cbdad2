import type { Readable } from 'node:stream'
import type { AnswerController, AnswerHandler } from './answer-handler.ts'
import { buildRequestHead, type HeadFields, type RequestHead } from './request-head.ts'

/** A request to be sent. */
export interface RequestToSend {
  /** Upper case. */
  readonly method: string
  /** With its query. */
  readonly path: string
  /**
   * Name, value, name, value, ... with `host` among them, or what was written of them before. A length is only needed
   * for a stream.
   */
  readonly headers: readonly string[] | HeadFields
  /** A stream goes out as it comes, in chunks unless the headers announce its length. `null`: no body. */
  readonly body: Buffer | Readable | null
}

/** The connection of a request, as far as its controller needs it. */
export interface Carrier {
  pauseReading(): void
  resumeReading(): void
  /** Ends the connection: the request on it was given up. */
  drop(): void
}

const NO_HEADERS: readonly string[] = []

/** One request, from its dispatch to the end of its answer; to its handler, the controller of the answer. */
export class UpstreamRequest implements AnswerController {
  readonly handler: AnswerHandler
  readonly isHead: boolean
  readonly head: RequestHead
  readonly hasBody: boolean
  rawHeaders: readonly string[] = NO_HEADERS
  aborted = false
  paused = false
  isWhole = false
  reason: Error | null = null
  /** The handler has heard of the end. */
  isOver = false
  /** Set while the request is on its connection. */
  carrier: Carrier | null = null
  #isBegun = false
  #body: Buffer | Readable | null

  /** @throws {UpstreamError} When the head is not fit to be sent. */
  constructor({ method, path, headers, body }: RequestToSend, handler: AnswerHandler, keepAlive: boolean) {
    this.handler = handler
    this.isHead = method === 'HEAD'
    this.head = buildRequestHead(method, path, headers, keepAlive)
    this.#body = Buffer.isBuffer(body) && body.length === 0 ? null : body
    this.hasBody = this.#body !== null
  }

  /** The part that is still to be sent; `null`: nothing. */
  get body(): Buffer | Readable | null {
    return this.#body
  }

  /** The body was handed to the socket: it does not stay in memory for as long as the answer takes. */
  dropBody(): void {
    this.#body = null
  }

  /** Asks the handler whether to go on, now that there is a connection. False: it is over. */
  begin(): boolean {
    const body = this.#body
    if (body !== null && !Buffer.isBuffer(body) && body.destroyed && !body.readableEnded) {
      this.fail(body.errored ?? new Error('the body was given up before it was sent'))
      return false
    }
    this.#isBegun = true
    try {
      this.handler.onRequestStart(this)
    } catch (error) {
      this.abort(errorOf(error))
    }
    return !this.isOver
  }

  pause(): void {
    if (this.paused) return
    this.paused = true
    this.carrier?.pauseReading()
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.carrier?.resumeReading()
  }

  abort(reason: Error): void {
    if (this.isOver) return
    this.aborted = true
    this.reason = reason
    const { carrier } = this
    try {
      this.fail(reason)
    } finally {
      carrier?.drop()
    }
  }

  /** The request ends without its whole answer. */
  fail(error: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.carrier = null
    try {
      this.handler.onResponseError(this.#isBegun ? this : null, error)
    } finally {
      destroyBody(this.#body)
    }
  }
}

/** A body that is not sent to its end takes nothing more. */
export function destroyBody(body: Buffer | Readable | null): void {
  if (body !== null && !Buffer.isBuffer(body)) body.destroy()
}

/** Makes an error of what was thrown. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
