import type { AnswerController, AnswerHandler, AnswerHeaders } from './answer-handler.ts'
import type { ConnectionPool } from './connection-pool.ts'

/** A request to ask by. */
export interface FetchRequest {
  readonly method: string
  readonly path: string
  /** Name, value, name, value, ... with `host` among them. */
  readonly headers: readonly string[]
  /** Absent: none. */
  readonly body?: Buffer | null
  /** Milliseconds for all of it; `null`: only the pool's own limits hold. */
  readonly timeoutMs: number | null
}

export interface FetchedHead {
  readonly status: number
  readonly headers: AnswerHeaders
}

/**
 * Asks, and gives the pieces of the answer's body to `onChunk` as they come.
 *
 * @returns when the answer is whole
 * @throws When there is no whole answer in time, or what `onChunk` throws.
 */
export function fetchAnswer(
  pool: ConnectionPool,
  { method, path, headers, body = null, timeoutMs }: FetchRequest,
  onChunk: (chunk: Buffer, status: number) => void,
): Promise<FetchedHead> {
  return new Promise((resolve, reject) => {
    const reader = new FetchedAnswer(onChunk, timeoutMs, resolve, reject)
    pool.dispatch({ method, path, headers, body }, reader)
  })
}

/**
 * As {@link fetchAnswer}, with the body, as it came, in one piece.
 *
 * @throws When it is longer than `maxBytes`.
 */
export async function fetchWhole(
  pool: ConnectionPool,
  request: FetchRequest,
  maxBytes: number,
): Promise<FetchedHead & { readonly body: Buffer }> {
  const pieces: Buffer[] = []
  let bytes = 0
  const head = await fetchAnswer(pool, request, (chunk) => {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`an answer is longer than ${maxBytes} bytes`)
    pieces.push(chunk)
  })
  return { ...head, body: Buffer.concat(pieces) }
}

class FetchedAnswer implements AnswerHandler {
  readonly #onChunk: (chunk: Buffer, status: number) => void
  readonly #resolve: (head: FetchedHead) => void
  readonly #reject: (error: Error) => void
  readonly #timer: NodeJS.Timeout | null
  #controller: AnswerController | null = null
  #isLate = false
  #status = 0
  #headers: AnswerHeaders = {}

  constructor(
    onChunk: (chunk: Buffer, status: number) => void,
    timeoutMs: number | null,
    resolve: (head: FetchedHead) => void,
    reject: (error: Error) => void,
  ) {
    this.#onChunk = onChunk
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = timeoutMs === null ? null : setTimeout(() => this.#giveUp(), timeoutMs)
  }

  onRequestStart(controller: AnswerController): void {
    this.#controller = controller
    if (this.#isLate) this.#giveUp()
  }

  onResponseStart(_controller: AnswerController, status: number, headers: AnswerHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: AnswerController, chunk: Buffer): void {
    this.#onChunk(chunk, this.#status)
  }

  onResponseEnd(): void {
    this.#endTimer()
    this.#resolve({ status: this.#status, headers: this.#headers })
  }

  onResponseError(_controller: AnswerController | null, error: Error): void {
    this.#endTimer()
    this.#reject(error)
  }

  #giveUp(): void {
    this.#isLate = true
    const error = new Error('there was no whole answer in time')
    this.#reject(error)
    this.#controller?.abort(error)
  }

  #endTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
  }
}
