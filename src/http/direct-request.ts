import { IncomingMessage } from 'node:http'

/** Gets a request's body as the parser finds it. */
export interface BodySink {
  take(chunk: Buffer): void
  /** The body is whole. */
  end(): void
  /** The connection closed before it was. */
  close(): void
}

/**
 * A request whose body can be read without being a stream. The events of a stream, its flow and its end are six
 * entries in the queue of ticks and as many listeners, for a body that nearly always comes in one piece.
 */
export class DirectRequest extends IncomingMessage {
  /**
   * Node's own since 24.12, for requests of which it knows that no body comes: the stream is over, without an event.
   */
  declare _dumpAndCloseReadable: (() => void) | undefined
  #sink: BodySink | null = null

  /**
   * The body goes to `sink`, and its `end` or `close` is the last call; both come while the parser runs. False: some of
   * it has come before, or Node is another one, and the request must be read as a stream.
   */
  readInto(sink: BodySink): boolean {
    if (this._dumpAndCloseReadable === undefined) return false
    if (this.complete || this.destroyed || this.readableLength > 0 || this.readableFlowing !== null)
      return false
    this.#sink = sink
    return true
  }

  /** The sink gets no more; what is still to come of the body is dropped. */
  dropRest(): void {
    this.#sink = null
    if (!this.destroyed) this.resume()
  }

  /** Called by the parser; `null`: the message is complete. */
  override push(chunk: Buffer | null): boolean {
    const sink = this.#sink
    if (sink === null) return super.push(chunk)
    if (chunk === null) {
      this.#sink = null
      this._dumpAndCloseReadable?.()
      sink.end()
    } else {
      sink.take(chunk)
    }
    return true
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const sink = this.#sink
    this.#sink = null
    super._destroy(error, callback)
    sink?.close()
  }
}
