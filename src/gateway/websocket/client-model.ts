import type { Dialect } from '../../providers/dialect.ts'
import { createFrameReader, type FrameReader } from '../../providers/wires/frames/websocket-frames.ts'

/** A client that has sent this much without naming its model names none. */
const MAX_CLIENT_BYTES = 1024 * 1024
/** The message that names the model holds instructions and tools, too, but no pictures and no sound. */
const MAX_MESSAGE_BYTES = 256 * 1024

/** Reads the messages of a session's client until one names the model. */
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

  /** The client's next bytes; not kept. */
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
