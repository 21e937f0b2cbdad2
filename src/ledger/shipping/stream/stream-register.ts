import type { Logger } from '../../../lib/logger.ts'
import type { RedisMemory } from '../../../store/connection/redis-state.ts'
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

/** An entry of a short call in Redis's memory: docs/scaling.md has the measurement. */
export const ENTRY_BYTES = 1_040
/** Above so many entries a stream is crowded: any worker has enough to read. */
export const CROWDED_ENTRIES = 50_000
/** All streams together may take this part of the memory that is free. The rest is for what else is in Redis. */
const STREAMS_SHARE = 0.5

/**
 * From how many entries on a stream is crowded. Its producers then keep one batch on it each, and the rest in their
 * journals: many producers would fill Redis otherwise, each within a window of its own.
 *
 * @param memory `null`: not known.
 * @param streams that share the memory.
 */
export function crowdedFrom(memory: RedisMemory | null, streams: number): number {
  if (memory === null || memory.maxBytes === null) return CROWDED_ENTRIES
  const freeBytes = Math.max(memory.maxBytes - memory.usedBytes, 0)
  return Math.min(CROWDED_ENTRIES, Math.floor((freeBytes * STREAMS_SHARE) / streams / ENTRY_BYTES))
}

/**
 * The most that the streams take of Redis, in bytes: that is, with as much `maxmemory` beside it for the rest.
 *
 * @param processes of gateways: each has a producer for each stream.
 * @param batchEntries that a producer keeps on a crowded stream.
 */
export function mostStreamBytes(streams: number, processes: number, batchEntries: number): number {
  return streams * (CROWDED_ENTRIES + processes * batchEntries) * ENTRY_BYTES
}
