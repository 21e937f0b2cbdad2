import type { Dialect } from '../../providers/dialect.ts'
import { createFrameReader, type FrameReader } from '../../providers/wires/websocket-frames.ts'

/** The message that names the model holds instructions and tools, too, but no film. A larger one is refused. */
const MAX_MESSAGE_BYTES = 1024 * 1024
/** Waits of what a client sends before its first message is whole: that message, and as much of control frames. */
const MAX_HELD_BYTES = 2 * MAX_MESSAGE_BYTES

export interface ClientEvents {
  /** The client has named its model, for the first time. */
  onModel(model: string): void
  /** The client has asked for a response. */
  onAsked(): void
  /** The session has to end, for this reason. Called at most once, and nothing after it. */
  onRefused(reason: string): void
}

/** Reads what a session's client says of its model, and that it asks for responses. */
export class ClientMessages {
  readonly #dialect: Dialect
  readonly #events: ClientEvents
  readonly #frames: FrameReader
  #model: string | null = null
  #holds: boolean
  #heldBytes = 0
  #isRefused = false

  constructor(dialect: Dialect, events: ClientEvents) {
    this.#dialect = dialect
    this.#events = events
    this.#holds = dialect.setupNamesModel === true
    this.#frames = createFrameReader({
      maxMessageBytes: MAX_MESSAGE_BYTES,
      onMessage: (bytes) => this.#read(bytes),
    })
  }

  /** Whether nothing of what the client sends may go upstream yet. */
  get holds(): boolean {
    return this.#holds
  }

  /** The client's next bytes. Borrowed. */
  push(chunk: Uint8Array): void {
    if (this.#isRefused) return
    this.#frames.push(chunk)
    if (!this.#holds) return
    this.#heldBytes += chunk.length
    if (this.#frames.skipped > 0 || this.#heldBytes > MAX_HELD_BYTES) this.#refuse('is too large')
    else if (this.#frames.blind) this.#refuse('cannot be read')
    // It closed the session before it said anything.
    else if (this.#frames.finished) this.#holds = false
  }

  #read(bytes: Uint8Array): void {
    const { readClientMessage, setupNamesModel } = this.#dialect
    if (this.#isRefused || readClientMessage === undefined) return
    const { model, isAmbiguous, asks } = readClientMessage(bytes)
    const wrong = setupNamesModel === true ? this.#wrongWith(model, isAmbiguous) : null
    if (wrong !== null) {
      this.#refuse(wrong)
      return
    }
    if (model !== null && this.#model === null) {
      this.#model = model
      this.#events.onModel(model)
    }
    this.#holds = false
    if (asks) this.#events.onAsked()
  }

  /** What is wrong with a message that may name the only model of its session; `null`: nothing. */
  #wrongWith(model: string | null, isAmbiguous: boolean): string | null {
    if (isAmbiguous) return 'says something twice'
    if (model === null) return this.#model === null ? 'names no model' : null
    return this.#model === null || this.#model === model ? null : 'names another model'
  }

  #refuse(what: string): void {
    this.#isRefused = true
    const which = this.#holds ? 'The first message of this session' : 'A message of this session'
    this.#events.onRefused(`${which} ${what}.`)
  }
}
