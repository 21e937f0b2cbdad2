// Passes an answer on as it comes, and tells what it says of objects before its end is passed on.
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { type BodyDecoder, createDecoder } from '../http/codings/decode.ts'
import { type AnswerObjects, AnswerReader } from './answer-objects.ts'

type Handler = Dispatcher.DispatchHandler
type Controller = Dispatcher.DispatchController

/** Calls back once, before `next` hears of the end: only for answers with a status of success. */
export class WatchedAnswer implements Handler {
  readonly #next: Handler
  readonly #onObjects: (objects: AnswerObjects, isWhole: boolean) => void
  #reader: AnswerReader | null = null
  #decoder: BodyDecoder | null = null

  constructor(next: Handler, onObjects: (objects: AnswerObjects, isWhole: boolean) => void) {
    this.#next = next
    this.#onObjects = onObjects
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
    if (status >= 200 && status < 300) {
      const reader = new AnswerReader()
      this.#reader = reader
      const encoding = headers['content-encoding']
      if (encoding !== undefined && encoding !== 'identity') {
        this.#decoder = createDecoder(encoding, (decoded) => reader.push(decoded))
      }
    }
    this.#next.onResponseStart?.(controller, status, headers, message)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#decoder !== null) this.#decoder.push(chunk)
    else this.#reader?.push(chunk)
    this.#next.onResponseData?.(controller, chunk)
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    if (this.#decoder === null) {
      this.#notify(true)
      this.#next.onResponseEnd?.(controller, trailers)
      return
    }
    this.#decoder.end(() => {
      this.#notify(true)
      this.#next.onResponseEnd?.(controller, trailers)
    })
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#decoder?.destroy()
    // What was made before the answer broke off is there.
    this.#notify(false)
    this.#next.onResponseError?.(controller, error)
  }

  #notify(isWhole: boolean): void {
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) this.#onObjects(reader.objects, isWhole)
  }
}
