import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Longer pieces are written by Node: copying them would cost more than it saves. */
const MAX_PIECE_BYTES = 16 * 1024

/**
 * Writes pieces of an answer in chunks (RFC 9112, 7.1), each in one piece with its frame: Node writes four pieces
 * for each, at twice the cost. For answers whose head was written with `transfer-encoding: chunked`; Node writes
 * their ends.
 */
export class ChunkWriter {
  readonly #response: ServerResponse
  readonly #socket: Socket

  private constructor(response: ServerResponse, socket: Socket) {
    this.#response = response
    this.#socket = socket
  }

  /**
   * `null`: the body has no chunks, or the connection still carries an earlier answer. Only once the head was
   * sent, so that nothing of the answer waits in `response` itself.
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
    if (piece.length <= MAX_PIECE_BYTES)
      return socket.write(`${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n`, 'latin1')
    this.#response.write(piece)
    return !socket.writableNeedDrain
  }
}
