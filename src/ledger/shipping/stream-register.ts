import type { Logger } from '../../lib/logger.ts'

const RETRY_MIN_MS = 250
const RETRY_MAX_MS = 5_000

/** Makes streams known to the workers, each until that has succeeded once. */
export class StreamRegister {
  readonly #register: (stream: string) => Promise<void>
  readonly #log: Logger
  readonly #streams = new Map<string, Promise<void>>()
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(register: (stream: string) => Promise<void>, log: Logger) {
    this.#register = register
    this.#log = log
  }

  /** Calls `then` when workers know of `stream`. */
  whenRegistered(stream: string, then: () => void): void {
    const known = this.#streams.get(stream) ?? this.#keepTrying(stream)
    this.#streams.set(stream, known)
    void known.then(() => {
      if (!this.#stopped) then()
    })
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  async #keepTrying(stream: string): Promise<void> {
    for (let delayMs = RETRY_MIN_MS; !this.#stopped; delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)) {
      try {
        return await this.#register(stream)
      } catch (error) {
        if (delayMs === RETRY_MIN_MS)
          this.#log.warn({ err: error, stream }, 'the stream cannot be registered yet')
      }
      await new Promise((resolve) => {
        this.#timer = setTimeout(resolve, delayMs)
      })
    }
  }
}
