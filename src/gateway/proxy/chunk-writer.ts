import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Longer pieces are written as they are: copying them would cost more than it saves. */
const MAX_PIECE_BYTES = 16 * 1024

/**
 * Writes pieces of an answer in chunks (RFC 9112, 7.1), each in one piece with its frame, the first with the head
 * before it, the last with the end behind it: Node writes four pieces for each, at twice the cost. For answers whose
 * head was written with `transfer-encoding: chunked`.
 */
export class ChunkWriter {
  readonly #response: ServerResponse
  readonly #socket: Socket
  /** The head was sent, so that nothing of the answer waits in the response itself. */
  #isBegun = false

  private constructor(response: ServerResponse, socket: Socket) {
    this.#response = response
    this.#socket = socket
  }

  /**
   * `null`: the body has no chunks, or the connection still carries an earlier answer. Only once the head was
   * written; it need not be sent.
   */
  static of(response: ServerResponse): ChunkWriter | null {
    const { socket } = response
    if (!response.headersSent || !response.chunkedEncoding || socket === null) return null
    return new ChunkWriter(response, socket)
  }

  /** Emits `drain` once `write` may be called again. */
  get drains(): Socket {
    return this.#socket
  }

  /** Whether more may be written at once; else after `drain` of {@link drains}. */
  write(piece: Buffer): boolean {
    const socket = this.#socket
    // An empty chunk would end the body.
    if (piece.length === 0) return !socket.writableNeedDrain
    if (piece.length <= MAX_PIECE_BYTES && this.#isBegun) return socket.write(framed(piece), 'latin1')
    const response = this.#response
    // What Node would have written at the end of this turn goes out now, as all that follows does.
    socket.cork()
    if (piece.length > MAX_PIECE_BYTES) response.write(piece)
    else this.#asFramed(() => response.write(framed(piece), 'latin1'))
    socket.uncork()
    this.#isBegun = true
    return !socket.writableNeedDrain
  }

  /** Writes the last piece and ends the answer, which has no trailers: they would be lost. */
  end(piece: Buffer): void {
    if (piece.length === 0 || piece.length > MAX_PIECE_BYTES) this.#response.end(piece)
    else this.#asFramed(() => this.#response.end(`${framed(piece)}0\r\n\r\n`, 'latin1'))
  }

  /** Node adds no frame to what `write` gives it. */
  #asFramed(write: () => void): void {
    this.#response.chunkedEncoding = false
    write()
    this.#response.chunkedEncoding = true
  }
}

function framed(piece: Buffer): string {
  return `${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n`
}
