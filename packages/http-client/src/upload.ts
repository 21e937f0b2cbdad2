import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { UpstreamError } from './answer-handler.ts'
import type { RequestHead } from './request-head.ts'

/** Who sends the request that a body belongs to. */
export interface UploadListener {
  /** The server takes no more for now. */
  uploadStalled(): void
  /** The body was sent, or (`error`) is not going to be. Called once, and not after `stop`. */
  uploadEnded(error: Error | null): void
}

/**
 * Sends a body that comes as a stream, with the head before its first bytes: a stream that fails before has
 * sent nothing. A body that is not as long as was announced is not sent to its end, since the server would
 * take what follows for another request.
 */
export class Upload {
  readonly #socket: Socket
  readonly #body: Readable
  readonly #head: RequestHead
  readonly #length: number | null
  readonly #listener: UploadListener
  #sentBytes = 0
  #isOver = false

  constructor(socket: Socket, body: Readable, head: RequestHead, listener: UploadListener) {
    this.#socket = socket
    this.#body = body
    this.#head = head
    this.#length = head.announcedLength
    this.#listener = listener
    body.on('data', this.#onData)
    body.on('end', this.#onBodyEnd)
    body.on('error', this.#onBodyError)
    body.on('close', this.#onBodyClose)
    socket.on('drain', this.#onDrain)
  }

  /** Something of the request was sent. */
  get hasBegun(): boolean {
    return this.#sentBytes > 0
  }

  /** Sends nothing more. */
  stop(): void {
    this.#release()
    this.#body.destroy()
  }

  #onData = (chunk: Buffer): void => {
    if (chunk.length === 0) return
    const length = this.#length
    if (length !== null && this.#sentBytes + chunk.length > length) {
      this.#end(new UpstreamError('invalid_request', 'the body is longer than was announced'))
      return
    }
    const socket = this.#socket
    socket.cork()
    if (this.#sentBytes === 0) {
      const framing = length === null ? 'transfer-encoding: chunked' : `content-length: ${length}`
      socket.write(`${this.#head.text}${framing}\r\n\r\n`, 'latin1')
    }
    this.#sentBytes += chunk.length
    if (length === null) socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
    let takesMore = socket.write(chunk)
    if (length === null) takesMore = socket.write('\r\n', 'latin1')
    socket.uncork()
    if (takesMore) return
    this.#body.pause()
    this.#listener.uploadStalled()
  }

  #onBodyEnd = (): void => {
    const length = this.#length
    if (length !== null && this.#sentBytes < length) {
      this.#end(new UpstreamError('invalid_request', 'the body is shorter than was announced'))
      return
    }
    if (this.#sentBytes === 0) this.#socket.write(withoutBody(this.#head), 'latin1')
    else if (length === null) this.#socket.write('0\r\n\r\n', 'latin1')
    this.#end(null)
  }

  #onBodyError = (error: Error): void => this.#end(error)

  #onBodyClose = (): void => this.#end(new Error('the body broke off'))

  #onDrain = (): void => {
    this.#body.resume()
  }

  #end(error: Error | null): void {
    if (this.#isOver) return
    this.#release()
    this.#listener.uploadEnded(error)
  }

  #release(): void {
    this.#isOver = true
    const body = this.#body
    body.off('data', this.#onData)
    body.off('end', this.#onBodyEnd)
    body.off('error', this.#onBodyError)
    body.off('close', this.#onBodyClose)
    this.#socket.off('drain', this.#onDrain)
  }
}

/** The whole of a request without a body. */
export function withoutBody({ text, takesBody }: RequestHead): string {
  return takesBody ? `${text}content-length: 0\r\n\r\n` : `${text}\r\n`
}
