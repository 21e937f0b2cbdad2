import type { AnswerController, AnswerHandler, AnswerHeaders } from '../src/answer-handler.ts'
import type { ConnectionPool } from '../src/connection-pool.ts'
import type { RequestToSend } from '../src/upstream-request.ts'

/** Takes an answer, and keeps all that it was called with. */
export class TakenAnswer implements AnswerHandler {
  /** Resolves at the end, whichever it is, once the connection may carry the next request. */
  readonly ended: Promise<this>
  readonly calls: string[] = []
  controller: AnswerController | null = null
  status: number | null = null
  reason = ''
  headers: AnswerHeaders = {}
  trailers: AnswerHeaders | null = null
  error: Error | null = null
  /** Called within the method of that name. */
  on: Partial<Record<'start' | 'head' | 'data' | 'end', (controller: AnswerController) => void>> = {}
  readonly #pieces: Buffer[] = []
  readonly #resolve: (answer: this) => void

  constructor() {
    const { promise, resolve } = Promise.withResolvers<this>()
    this.ended = promise
    this.#resolve = resolve
  }

  get body(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  onRequestStart(controller: AnswerController): void {
    this.controller = controller
    this.calls.push('start')
    this.on.start?.(controller)
  }

  onResponseStart(
    controller: AnswerController,
    status: number,
    headers: AnswerHeaders,
    reason: string,
  ): void {
    Object.assign(this, { status, headers, reason })
    this.calls.push('head')
    this.on.head?.(controller)
  }

  onResponseData(controller: AnswerController, chunk: Buffer): void {
    this.#pieces.push(chunk)
    if (this.calls.at(-1) !== 'data') this.calls.push('data')
    this.on.data?.(controller)
  }

  onResponseEnd(controller: AnswerController, trailers: AnswerHeaders | null): void {
    this.trailers = trailers
    this.calls.push('end')
    setImmediate(() => setImmediate(() => this.#resolve(this)))
    this.on.end?.(controller)
  }

  onResponseError(controller: AnswerController | null, error: Error): void {
    this.error = error
    this.calls.push(controller === null ? 'error unsent' : 'error')
    this.#resolve(this)
  }
}

/** Sends a request; a GET of `/` where nothing else is said. */
export function send(pool: ConnectionPool, request: Partial<RequestToSend> = {}): TakenAnswer {
  const answer = new TakenAnswer()
  pool.dispatch({ method: 'GET', path: '/', headers: ['host', 'upstream'], body: null, ...request }, answer)
  return answer
}
