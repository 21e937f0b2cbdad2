import { listenForKeyChanges } from '../../keys/key-announcements.ts'
import { DeadlineError, withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import { SharedRefresh } from '../../lib/shared-refresh.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Limit } from '../limit.ts'
import { selectChangedLimits, selectLimitPages } from '../table/limit-rows.ts'
import { type LimitState, readLimitState } from '../table/limit-version.ts'
import { type ChangedClients, LimitTable } from './limit-table.ts'

export interface LimitDirectoryOptions {
  /** As that of the keys: a poll must not wait behind other queries. */
  readonly pool: Postgres
  /** Announces changes; `null`: polling only. */
  readonly redisUrl: string | null
  readonly redisPrefix: string
  /** Channels that the connection listens on beside. */
  readonly channels?: readonly string[]
  readonly log: Logger
}

export interface LimitDirectoryStats {
  readonly limits: number
  /** Whether Postgres answered the last poll. */
  readonly storeReachable: boolean
  /** Milliseconds since the last successful poll; `null`: none yet. */
  readonly staleMs: number | null
}

/** The limits of all clients, in memory. With Postgres away the last known ones hold, without an end. */
export interface LimitDirectory {
  /**
   * Every limit that may hold for calls of the client, defaults included, also those of some keys or models only. The
   * list stays the same object while nothing changes. Empty: none, or none is known yet.
   */
  of(clientId: string): readonly Limit[]
  /** Rises with every change that `of` shows. */
  readonly version: number
  /** Whether the limits were read at least once. */
  readonly ready: boolean
  /** Resolves when the limits were read for the first time. */
  whenReady(): Promise<void>
  /** Calls `listener` after a change, with whose limits are others now. Returns a function that removes it. */
  onChange(listener: (clients: ChangedClients) => void): () => void
  stats(): LimitDirectoryStats
  close(): Promise<void>
}

const POLL_MS = 500
const REFRESH_SPACING_MS = 50
/** A slower Postgres counts as unreachable. */
const REFRESH_DEADLINE_MS = 2_000
const SILENT = `Postgres did not answer within ${REFRESH_DEADLINE_MS} ms`

/** Opens the directory and begins to poll. Without Postgres it keeps trying and is not `ready`. */
export function openLimitDirectory(options: LimitDirectoryOptions): LimitDirectory {
  return new PolledLimitDirectory(options)
}

class PolledLimitDirectory implements LimitDirectory {
  readonly #options: LimitDirectoryOptions
  readonly #table = new LimitTable()
  readonly #listeners = new Set<(clients: ChangedClients) => void>()
  readonly #announcements: { close(): void } | null
  readonly #refresh = new SharedRefresh(() => this.#read(), REFRESH_SPACING_MS)
  readonly #firstRead = Promise.withResolvers<void>()
  /** What was read last; `null`: nothing yet. */
  #state: LimitState | null = null
  /** `null`: never yet. Monotonic milliseconds. */
  #answeredAtMs: number | null = null
  #reachable: boolean | null = null
  /** Statements that timed out here and still run. More of them would only fill the pool. */
  #hanging = 0
  #version = 0
  #pollTimer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: LimitDirectoryOptions) {
    const { redisUrl, redisPrefix, channels, log } = options
    this.#options = options
    const onAnnounced = (): void => void this.#refresh.request()
    this.#announcements =
      redisUrl === null
        ? null
        : listenForKeyChanges(redisUrl, redisPrefix, log, onAnnounced, 'tallygate limits', channels)
    this.#poll()
  }

  of(clientId: string): readonly Limit[] {
    return this.#table.of(clientId)
  }

  get version(): number {
    return this.#version
  }

  get ready(): boolean {
    return this.#answeredAtMs !== null
  }

  whenReady(): Promise<void> {
    return this.#firstRead.promise
  }

  onChange(listener: (clients: ChangedClients) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stats(): LimitDirectoryStats {
    return {
      limits: this.#table.size,
      storeReachable: this.#reachable === true,
      staleMs: this.#answeredAtMs === null ? null : performance.now() - this.#answeredAtMs,
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#pollTimer)
    this.#announcements?.close()
    await this.#refresh.settled()
  }

  #poll(): void {
    void this.#refresh.request().then(() => {
      if (!this.#closed) this.#pollTimer = setTimeout(() => this.#poll(), POLL_MS)
    })
  }

  /** Whether Postgres answered. */
  async #read(): Promise<boolean> {
    if (this.#closed) return false
    const { log } = this.#options
    try {
      if (this.#hanging > 0) throw new Error('Postgres has not answered for a while')
      await this.#readChanges()
    } catch (error) {
      if (this.#reachable !== false)
        log.warn({ event: 'limits.unreadable', err: error }, 'limits cannot be read from Postgres')
      this.#reachable = false
      return false
    }
    if (this.#reachable === false)
      log.info({ event: 'limits.read_again' }, 'limits are read from Postgres again')
    this.#reachable = true
    this.#answeredAtMs = performance.now()
    this.#firstRead.resolve()
    return true
  }

  /**
   * Reads what changed since the last reading. A server that began later may have lost changes that were read before,
   * so from it everything is read again.
   */
  async #readChanges(): Promise<void> {
    const { pool } = this.#options
    const known = this.#state
    const state = await this.#withinDeadline(readLimitState(pool))
    const isSameServer = known !== null && state.server === known.server && state.version >= known.version
    if (isSameServer && state.version === known.version) return
    const changed = isSameServer ? await this.#withinDeadline(selectChangedLimits(pool, known.version)) : null
    if (changed === null) await this.#readAll()
    else this.#reportChange(this.#table.update(changed))
    this.#state = state // read first: what changed meanwhile has a higher number and is read again
  }

  async #readAll(): Promise<void> {
    this.#table.beginReading()
    const pages = selectLimitPages(this.#options.pool)
    for (;;) {
      const page = await this.#withinDeadline(pages.next())
      if (page.done === true) break
      this.#reportChange(this.#table.update(page.value.map((limit) => ({ id: limit.id, limit }))))
    }
    this.#reportChange(this.#table.endReading())
  }

  /** Counts answers that did not come in time, until they come after all: no further query is sent meanwhile. */
  async #withinDeadline<T>(answer: Promise<T>): Promise<T> {
    try {
      return await withinDeadline(answer, REFRESH_DEADLINE_MS, SILENT)
    } catch (error) {
      if (error instanceof DeadlineError) {
        this.#hanging += 1
        const ended = () => {
          this.#hanging -= 1
        }
        answer.then(ended, ended)
      }
      throw error
    }
  }

  #reportChange(clients: ChangedClients): void {
    if (clients !== null && clients.size === 0) return
    this.#version += 1
    for (const listener of this.#listeners) {
      try {
        listener(clients)
      } catch (error) {
        this.#options.log.error(
          { event: 'limits.listener_failed', err: error },
          'a listener for changed limits failed',
        )
      }
    }
  }
}
