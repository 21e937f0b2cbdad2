import type { Dialect } from '../../providers/dialect.ts'
import { createFrameReader, type FrameReader } from '../../providers/wires/frames/websocket-frames.ts'

/** A client that has not named its model in this much of what it sent does not name it. */
const MAX_CLIENT_BYTES = 1024 * 1024
/** Instructions and tools stand in the message that names the model; pictures and sound do not. */
const MAX_MESSAGE_BYTES = 256 * 1024

/** Looks for the model in the messages of a session's client, until one names it. */
export class ClientModel {
  readonly #onModel: (model: string) => void
  #frames: FrameReader | null
  #bytes = 0

  /**
   * @param extensions `sec-websocket-extensions` of the upstream's answer
   * @param onModel called at most once
   */
  constructor(dialect: Dialect, extensions: string, onModel: (model: string) => void) {
    this.#onModel = onModel
    this.#frames =
      dialect.modelInMessage === undefined
        ? null
        : createFrameReader({
            deflate: extensions.includes('permessage-deflate'),
            serverNoContextTakeover: extensions.includes('client_no_context_takeover'),
            maxMessageBytes: MAX_MESSAGE_BYTES,
            onMessage: (bytes) => this.#read(dialect.modelInMessage?.(bytes) ?? null),
          })
  }

  /** The next bytes of the client's. Borrowed. */
  push(chunk: Uint8Array): void {
    if (this.#frames === null) return
    this.#bytes += chunk.length
    this.#frames.push(chunk)
    if (this.#bytes > MAX_CLIENT_BYTES) this.#frames = null
  }

  #read(model: string | null): void {
    if (model === null || this.#frames === null) return
    this.#frames = null
    this.#onModel(model)
  }
}
