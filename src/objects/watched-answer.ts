// Passes an answer on as it comes, and tells what it says of objects before its end is passed on.
import type { AnswerController, AnswerHandler, AnswerHeaders } from '../http/client/answer-handler.ts'
import { type BodyDecoder, createDecoder } from '../http/codings/decode.ts'
import { type AnswerObjects, AnswerReader } from './answer-objects.ts'

type OnObjects = (objects: AnswerObjects, isWhole: boolean, headers: AnswerHeaders) => void

/** Calls back once, before `next` hears of the end: only for answers with a status of success. */
export class WatchedAnswer implements AnswerHandler {
  readonly #next: AnswerHandler
  readonly #onObjects: OnObjects
  readonly #seeksContainers: boolean
  #headers: AnswerHeaders = {}
  #reader: AnswerReader | null = null
  #decoder: BodyDecoder | null = null

  constructor(next: AnswerHandler, onObjects: OnObjects, seeksContainers = false) {
    this.#next = next
    this.#seeksContainers = seeksContainers
    this.#onObjects = onObjects
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
    if (status >= 200 && status < 300) {
      const reader = new AnswerReader(this.#seeksContainers)
      this.#reader = reader
      this.#headers = headers
      const encoding = headers['content-encoding']
      if (encoding !== undefined && encoding !== 'identity') {
        this.#decoder = createDecoder(String(encoding), (decoded) => reader.push(decoded))
      }
    }
    this.#next.onResponseStart(controller, status, headers, message)
  }

  onResponseData(controller: AnswerController, chunk: Buffer): void {
    if (this.#decoder !== null) this.#decoder.push(chunk)
    else this.#reader?.push(chunk)
    this.#next.onResponseData(controller, chunk)
  }

  onResponseEnd(controller: AnswerController, trailers: AnswerHeaders | null): void {
    if (this.#decoder === null) {
      this.#notify(true)
      this.#next.onResponseEnd(controller, trailers)
      return
    }
    this.#decoder.end((result) => {
      this.#notify(result === 'complete')
      this.#next.onResponseEnd(controller, trailers)
    })
  }

  onResponseError(controller: AnswerController | null, error: Error): void {
    this.#decoder?.destroy()
    // What was made before the answer broke off is there.
    this.#notify(false)
    this.#next.onResponseError(controller, error)
  }

  #notify(isWhole: boolean): void {
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) this.#onObjects(reader.objects, isWhole, this.#headers)
  }
}
