import type { CallerLookup } from '../call/caller.ts'
import { DeadlineError, withinDeadline } from '../lib/deadline.ts'
import type { Logger } from '../lib/logger.ts'
import { SharedRefresh } from '../lib/shared-refresh.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { StoreClock } from '../store/processes/store-clock.ts'
import { listenForKeyChanges } from './key-announcements.ts'
import { recordKeysUsed, selectChangedKeys, selectKeyRecords } from './key-records.ts'
import { KeyTable } from './key-table.ts'
import { type KeyState, readKeyState } from './key-version.ts'

export interface KeyDirectoryOptions {
  /**
   * Preferably a pool of its own with a statement timeout of some seconds: a poll must not wait behind other
   * queries.
   */
  readonly pool: Postgres
  /** Announces changes; `null`: polling only. */
  readonly redisUrl: string | null
  readonly redisPrefix: string
  /** The peppers that keys may be hashed with. */
  readonly peppers: readonly string[]
  /** How long known keys stay valid without Postgres. */
  readonly graceSeconds: number
  /** Learns from every poll; keys expire by it. Absent: one of its own. */
  readonly clock?: StoreClock
  readonly log: Logger
}

export interface KeyDirectoryStats {
  readonly keys: number
  /** Whether Postgres answered the last poll. */
  readonly storeReachable: boolean
  /** Seconds since the last successful poll; `null`: none yet. */
  readonly staleMs: number | null
}

/** Finds the caller of a request, from memory. */
export interface KeyDirectory {
  /**
   * Synchronous for known keys and for texts that cannot be keys. An unknown key waits for one query of
   * Postgres, shared by all that wait.
   */
  find(key: string): CallerLookup | Promise<CallerLookup>
  /** Whether the keys were read at least once. */
  readonly ready: boolean
  /** Resolves when the keys were read for the first time. */
  whenReady(): Promise<void>
  /** Calls `listener` with each key that becomes inactive. Returns a function that removes the listener. */
  onDeactivated(listener: (keyId: string) => void): () => void
  stats(): KeyDirectoryStats
  close(): Promise<void>
}

/** A revoked key is refused within a second: the poll interval and the time a poll takes. */
const POLL_MS = 500
/** Unknown keys share one query of Postgres, at most twenty a second, however many clients ask. */
const REFRESH_SPACING_MS = 50
/** A slower Postgres counts as unreachable: callers with unknown keys wait for it. */
const REFRESH_DEADLINE_MS = 2_000
const SILENT = `Postgres did not answer within ${REFRESH_DEADLINE_MS} ms`
const USE_PERIOD_MS = 60_000

const UNKNOWN: CallerLookup = { kind: 'unknown' }
const UNAVAILABLE: CallerLookup = { kind: 'unavailable' }

/** Opens the directory and begins to poll. Without Postgres it keeps trying and is not `ready`. */
export function openKeyDirectory(options: KeyDirectoryOptions): KeyDirectory {
  return new PolledKeyDirectory(options)
}

class PolledKeyDirectory implements KeyDirectory {
  readonly #options: KeyDirectoryOptions
  readonly #table: KeyTable
  readonly #clock: StoreClock
  readonly #listeners = new Set<(keyId: string) => void>()
  readonly #announcements: { close(): void } | null
  readonly #refresh = new SharedRefresh(() => this.#read(), REFRESH_SPACING_MS)
  readonly #firstRead = Promise.withResolvers<void>()
  /** What was read last; `null`: nothing yet. */
  #state: KeyState | null = null
  /** `null`: never yet. Monotonic milliseconds. */
  #answeredAtMs: number | null = null
  #reachable: boolean | null = null
  #graceOver = false
  /** Statements that timed out here and still run. More of them would only fill the pool. */
  #hanging = 0
  #pollTimer: NodeJS.Timeout | undefined
  readonly #periodTimer: NodeJS.Timeout
  #recording: Promise<void> | null = null
  #closed = false

  constructor(options: KeyDirectoryOptions) {
    this.#options = options
    this.#clock = options.clock ?? new StoreClock({ log: options.log })
    this.#table = new KeyTable(options.peppers)
    this.#announcements =
      options.redisUrl === null
        ? null
        : listenForKeyChanges(
            options.redisUrl,
            options.redisPrefix,
            options.log,
            () => void this.#refresh.request(),
          )
    this.#periodTimer = setInterval(() => this.#table.beginPeriod(), USE_PERIOD_MS).unref()
    this.#poll()
  }

  get ready(): boolean {
    return this.#answeredAtMs !== null
  }

  whenReady(): Promise<void> {
    return this.#firstRead.promise
  }

  find(key: string): CallerLookup | Promise<CallerLookup> {
    const found = this.#table.find(key, this.#clock.now())
    if (found !== null) return this.#graceOver && found.kind !== 'unknown' ? UNAVAILABLE : found
    if (this.#reachable === false || this.#closed) return UNAVAILABLE
    return this.#findAfterRefresh(key)
  }

  async #findAfterRefresh(key: string): Promise<CallerLookup> {
    const answered = await this.#refresh.request()
    return this.#table.find(key, this.#clock.now()) ?? (answered ? UNKNOWN : UNAVAILABLE)
  }

  onDeactivated(listener: (keyId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stats(): KeyDirectoryStats {
    return {
      keys: this.#table.size,
      storeReachable: this.#reachable === true,
      staleMs: this.#answeredAtMs === null ? null : performance.now() - this.#answeredAtMs,
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#pollTimer)
    clearInterval(this.#periodTimer)
    this.#announcements?.close()
    await this.#refresh.settled()
    if (this.#reachable) {
      await this.#recording
      await this.#recordUse()
    }
  }

  #poll(): void {
    void this.#refresh.request().then(() => {
      if (this.#closed) return
      this.#deactivate(this.#table.expire(this.#clock.now()))
      this.#recording ??= this.#recordUse().finally(() => {
        this.#recording = null
      })
      this.#pollTimer = setTimeout(() => this.#poll(), POLL_MS)
    })
  }

  /** Whether Postgres answered. */
  async #read(): Promise<boolean> {
    if (this.#closed) return false
    try {
      if (this.#hanging > 0) throw new Error('Postgres has not answered for a while')
      await this.#readChanges()
    } catch (error) {
      this.#recordFailure(error)
      return false
    }
    if (this.#reachable === false)
      this.#options.log.info({ event: 'keys.read_again' }, 'API keys are read from Postgres again')
    this.#reachable = true
    this.#graceOver = false
    this.#answeredAtMs = performance.now()
    this.#firstRead.resolve()
    return true
  }

  /**
   * Reads what changed since the last reading. A server that began later may have lost changes that were read before,
   * so from it everything is read again. A failure alone means no other state: it does not cost a reading of all keys.
   */
  async #readChanges(): Promise<void> {
    const { pool } = this.#options
    const known = this.#state
    const askedAtMs = this.#clock.asks()
    const state = await this.#withinDeadline(readKeyState(pool))
    if (!Number.isNaN(state.nowMs)) this.#clock.learn(state.nowMs, askedAtMs)
    const isSameServer = known !== null && state.server === known.server && state.version >= known.version
    if (isSameServer && state.version === known.version) return
    const changed = isSameServer ? await this.#withinDeadline(selectChangedKeys(pool, known.version)) : null
    if (changed === null) await this.#readAll()
    else this.#deactivate(this.#table.update(changed, this.#clock.now()))
    this.#state = state // read first: what changed meanwhile has a higher number and is read again
  }

  async #readAll(): Promise<void> {
    this.#table.beginReading()
    const pages = selectKeyRecords(this.#options.pool)
    for (;;) {
      const page = await this.#withinDeadline(pages.next())
      if (page.done === true) break
      this.#deactivate(this.#table.update(page.value, this.#clock.now()))
    }
    this.#deactivate(this.#table.endReading())
  }

  /**
   * Counts answers that did not come in time, until they come after all: no further query is sent meanwhile.
   */
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

  #recordFailure(error: unknown): void {
    const { graceSeconds, log } = this.#options
    if (this.#reachable !== false)
      log.warn({ event: 'keys.unreadable', err: error }, 'API keys cannot be read from Postgres')
    this.#reachable = false
    if (this.#answeredAtMs === null || this.#graceOver) return
    this.#graceOver = performance.now() - this.#answeredAtMs >= graceSeconds * 1000
    if (this.#graceOver)
      log.error(
        { event: 'keys.expired', graceSeconds },
        'Postgres is unreachable for too long: no API key is accepted',
      )
  }

  #deactivate(keyIds: readonly string[]): void {
    for (const keyId of keyIds) {
      for (const listener of this.#listeners) {
        try {
          listener(keyId)
        } catch (error) {
          this.#options.log.error(
            { event: 'keys.listener_failed', err: error, keyId },
            'a listener for deactivated keys failed',
          )
        }
      }
    }
  }

  /** Never delays a call. A failure is harmless: the next use of the key saves it again. */
  async #recordUse(): Promise<void> {
    const keyIds = this.#reachable === true ? this.#table.takeUsed() : []
    if (keyIds.length === 0) return
    try {
      await recordKeysUsed(this.#options.pool, keyIds)
    } catch (error) {
      this.#options.log.warn(
        { event: 'keys.last_use_not_saved', err: error },
        'the last use of API keys could not be saved',
      )
    }
  }
}
