// Holds a list until what is not the client's has been taken out of it.
import type { AnswerController, AnswerHandler, AnswerHeaders } from '#http-client/answer-handler.ts'
import { createDecoder } from '../../http/codings/decode.ts'

/** Longest list that is held, content coding undone; the largest page any provider gives is some megabytes. */
export const MAX_LIST_BYTES = 16 * 1024 * 1024
/** Bound of all lists that are held at a time, so that many cannot exhaust the memory. */
const MAX_HELD_BYTES = 128 * 1024 * 1024

let heldBytes = 0

/** The list with only what may be shown; rejects where that cannot be determined. */
export type FilterList = (body: Buffer) => Promise<Buffer>

export class ListedAnswer implements AnswerHandler {
  readonly #next: AnswerHandler
  readonly #filter: FilterList
  readonly #mayHaveRun: boolean
  #status = 0
  #message = ''
  #headers: AnswerHeaders = {}
  #pieces: Buffer[] | null = null
  #bytes = 0
  #ended = false

  /** @param mayHaveRun the request had a body, by which the upstream may have run a model whatever its method. */
  constructor(next: AnswerHandler, filter: FilterList, mayHaveRun: boolean) {
    this.#next = next
    this.#filter = filter
    this.#mayHaveRun = mayHaveRun
  }

  onRequestStart(controller: AnswerController): void {
    this.#next.onRequestStart(controller)
  }

  onResponseStart(
    controller: AnswerController,
    status: number,
    headers: AnswerHeaders,
    message: string,
  ): void {
    this.#status = status
    this.#message = message
    this.#headers = headers
    if (status >= 200 && status < 300 && status !== 204) this.#pieces = []
    else this.#next.onResponseStart(controller, status, headers, message)
  }

  onResponseData(controller: AnswerController, chunk: Buffer): void {
    if (this.#pieces === null) {
      this.#next.onResponseData(controller, chunk)
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

  onResponseEnd(controller: AnswerController, trailers: AnswerHeaders | null): void {
    if (this.#pieces === null) {
      this.#next.onResponseEnd(controller, trailers)
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

  onResponseError(controller: AnswerController | null, error: Error): void {
    this.#release()
    this.#fail(controller, error)
  }

  #pass(controller: AnswerController, body: Buffer, trailers: AnswerHeaders | null): void {
    this.#release()
    if (this.#ended) return
    this.#ended = true
    const rawHeaders = withLength(controller.rawHeaders, body.length)
    const headers: AnswerHeaders = { ...this.#headers, 'content-length': String(body.length) }
    delete headers['content-encoding']
    const relayed: AnswerController = {
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
      isWhole: true,
      abort: (reason) => controller.abort(reason),
      pause: () => controller.pause(),
      resume: () => controller.resume(),
    }
    this.#next.onResponseStart(relayed, this.#status, headers, this.#message)
    this.#next.onResponseData(relayed, body)
    this.#next.onResponseEnd(relayed, trailers)
  }

  /**
   * An answer that is not shown is metered all the same. An announced length of nothing keeps its bytes from the
   * client.
   */
  #meter(controller: AnswerController, body: Buffer): void {
    if (this.#ended) return
    const headers = { ...this.#headers, 'content-length': '0' }
    this.#next.onResponseStart(controller, this.#status, headers, this.#message)
    this.#next.onResponseData(controller, body)
  }

  #fail(controller: AnswerController | null, error: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#next.onResponseError(controller, error)
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

function withLength(raw: AnswerController['rawHeaders'], length: number): string[] {
  const headers: string[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? ''
    if (/^(?:content-length|content-encoding|transfer-encoding)$/i.test(name)) continue
    headers.push(name, raw[i + 1] ?? '')
  }
  headers.push('content-length', String(length))
  return headers
}
