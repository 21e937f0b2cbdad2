import type { Logger } from '../../../lib/logger.ts'
import type { LedgerDatabase } from '../../ledger-database.ts'

const RETRY_MIN_MS = 250
const RETRY_MAX_MS = 5_000

/** Registers streams with the workers, and learns whose they are; each is tried until that succeeds once. */
export class StreamRegister {
  readonly #database: Pick<LedgerDatabase, 'registerStream' | 'readDatabaseId'>
  readonly #useDatabase: (database: string | null) => void
  readonly #log: Logger
  readonly #streams = new Map<string, Promise<void>>()
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  /** @param useDatabase gets the identity of the database in which a stream was registered. */
  constructor(
    database: Pick<LedgerDatabase, 'registerStream' | 'readDatabaseId'>,
    useDatabase: (database: string | null) => void,
    log: Logger,
  ) {
    this.#database = database
    this.#useDatabase = useDatabase
    this.#log = log
  }

  /** Calls `then` when `stream` is registered. */
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
        await this.#database.registerStream(stream)
        this.#useDatabase(await this.#database.readDatabaseId())
        return
      } catch (error) {
        if (delayMs === RETRY_MIN_MS)
          this.#log.warn(
            { event: 'ledger.stream_not_registered', err: error, stream },
            'the stream of this producer cannot be registered yet',
          )
      }
      await new Promise((resolve) => {
        this.#timer = setTimeout(resolve, delayMs)
      })
    }
  }
}
