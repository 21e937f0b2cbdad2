// Holds a list until what is not the client's has been taken out of it.
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { createDecoder } from '../../http/codings/decode.ts'

type Handler = Dispatcher.DispatchHandler
type Controller = Dispatcher.DispatchController

/** Longest list that is held, content coding undone; the largest page any provider gives is some megabytes. */
export const MAX_LIST_BYTES = 16 * 1024 * 1024
/** Of all lists that are held at a time, so that many cannot exhaust the memory. */
const MAX_HELD_BYTES = 128 * 1024 * 1024

let heldBytes = 0

/** The list with only what may be shown; rejects where that cannot be determined. */
export type FilterList = (body: Buffer) => Promise<Buffer>

export class ListedAnswer implements Handler {
  readonly #next: Handler
  readonly #filter: FilterList
  readonly #mayHaveRun: boolean
  #status = 0
  #message: string | undefined
  #headers: IncomingHttpHeaders = {}
  #pieces: Buffer[] | null = null
  #bytes = 0
  #ended = false

  /** @param mayHaveRun the request had a body, by which the upstream may have run a model whatever its method. */
  constructor(next: Handler, filter: FilterList, mayHaveRun: boolean) {
    this.#next = next
    this.#filter = filter
    this.#mayHaveRun = mayHaveRun
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#next.onRequestStart?.(controller, context)
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    this.#status = status
    this.#message = message
    this.#headers = headers
    if (status >= 200 && status < 300 && status !== 204) this.#pieces = []
    else this.#next.onResponseStart?.(controller, status, headers, message)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#pieces === null) {
      this.#next.onResponseData?.(controller, chunk)
      return
    }
    this.#bytes += chunk.length
    heldBytes += chunk.length
    if (this.#bytes > MAX_LIST_BYTES || heldBytes > MAX_HELD_BYTES) {
      controller.abort(new Error('a list is too long to be held'))
      return
    }
    this.#pieces.push(chunk)
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    if (this.#pieces === null) {
      this.#next.onResponseEnd?.(controller, trailers)
      return
    }
    const body = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#decoded(body)
      .then((plain) => this.#filter(plain))
      .then(
        (filtered) => this.#pass(controller, filtered, trailers),
        (error: unknown) => {
          this.#release()
          if (this.#mayHaveRun) this.#meter(controller, body)
          this.#fail(controller, error instanceof Error ? error : new Error(String(error)))
        },
      )
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#release()
    this.#fail(controller, error)
  }

  #pass(controller: Controller, body: Buffer, trailers: IncomingHttpHeaders): void {
    this.#release()
    if (this.#ended) return
    this.#ended = true
    const rawHeaders = withLength(controller.rawHeaders, body.length)
    const headers = { ...this.#headers, 'content-length': String(body.length) }
    delete headers['content-encoding']
    const relayed: Controller = {
      get aborted() {
        return controller.aborted
      },
      get paused() {
        return controller.paused
      },
      get reason() {
        return controller.reason
      },
      rawHeaders,
      abort: (reason) => controller.abort(reason),
      pause: () => controller.pause(),
      resume: () => controller.resume(),
    }
    this.#next.onResponseStart?.(relayed, this.#status, headers, this.#message)
    this.#next.onResponseData?.(relayed, body)
    this.#next.onResponseEnd?.(relayed, trailers)
  }

  /** What is not shown is metered all the same. An announced length of nothing keeps its bytes from the client. */
  #meter(controller: Controller, body: Buffer): void {
    if (this.#ended) return
    const headers = { ...this.#headers, 'content-length': '0' }
    this.#next.onResponseStart?.(controller, this.#status, headers, this.#message)
    this.#next.onResponseData?.(controller, body)
  }

  #fail(controller: Controller, error: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#next.onResponseError?.(controller, error)
  }

  #release(): void {
    heldBytes -= this.#bytes
    this.#bytes = 0
  }

  async #decoded(body: Buffer): Promise<Buffer> {
    return await decodeList(body, this.#headers['content-encoding'])
  }
}

/** The bytes of a list with its content coding undone, which it has only where the upstream was not asked for it. */
export async function decodeList(body: Buffer, encoding: string | string[] | undefined): Promise<Buffer> {
  if (encoding === undefined || encoding === 'identity') return body
  const pieces: Buffer[] = []
  let bytes = 0
  const decoder = createDecoder(String(encoding), (decoded) => {
    bytes += decoded.length
    if (bytes > MAX_LIST_BYTES) throw new Error('a list is too long to be held')
    pieces.push(Buffer.from(decoded))
  })
  decoder.push(body)
  const result = await new Promise<string>((resolve) => decoder.end(resolve))
  if (result !== 'complete') throw new Error('the content coding of a list could not be undone')
  return Buffer.concat(pieces)
}

function withLength(raw: Controller['rawHeaders'], length: number): string[] {
  const headers: string[] = []
  if (Array.isArray(raw)) {
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = String(raw[i])
      if (/^(?:content-length|content-encoding|transfer-encoding)$/i.test(name)) continue
      headers.push(name, Buffer.from(raw[i + 1] ?? '').toString('latin1'))
    }
  }
  headers.push('content-length', String(length))
  return headers
}
