import type { Duplex } from 'node:stream'

/** More than this waits in the socket: no client has to send anything before its handshake is answered. */
const MAX_BYTES = 64 * 1024

/**
 * Reads a client whose handshake waits for a stage: the end of an unread connection is not seen. A client that ends
 * its side before it has its answer has left, as over HTTP, and its connection is closed.
 */
export class HandshakeWatch {
  readonly #socket: Duplex
  readonly #early: Buffer[]
  readonly #starting: NodeJS.Immediate
  #bytes = 0

  /** @param head What came with the handshake. */
  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket
    this.#early = [head]
    // Most handshakes do not wait, and are not read here at all.
    this.#starting = setImmediate(() => {
      socket.on('data', this.#onData)
      socket.on('end', this.#onEnd)
    })
  }

  /** What came by now. The session has to read the socket from here on. */
  stop(): Buffer {
    clearImmediate(this.#starting)
    this.#socket.removeListener('data', this.#onData)
    this.#socket.removeListener('end', this.#onEnd)
    return this.#early.length === 1 ? (this.#early[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#early)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#early.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > MAX_BYTES) this.#socket.pause()
  }

  readonly #onEnd = (): void => {
    this.#socket.destroy()
  }
}
