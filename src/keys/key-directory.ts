import type { CallerLookup } from '../call/call-ports.ts'
import { settledWithin } from '../lib/deadline.ts'
import type { Logger } from '../lib/logger.ts'
import { WatchedTable } from '../lib/watched-table.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { StoreClock } from '../store/processes/store-clock.ts'
import { type KeyRecord, recordKeysUsed, selectChangedKeys, selectKeyRecords } from './key-records.ts'
import { KeyTable } from './key-table.ts'
import { type KeyState, listenForKeyChanges, readKeyState } from './key-version.ts'

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
  /** Reads what may have come with a new key, which is known after that: limits that it has taken over. */
  readonly readFirst?: () => Promise<unknown>
  readonly log: Logger
}

export interface KeyDirectoryStats {
  readonly keys: number
  /** Tells whether Postgres answered the last poll. */
  readonly storeReachable: boolean
  /** Milliseconds since the last successful poll; `null`: none yet. */
  readonly staleMs: number | null
}

/** Finds the caller of a request, from memory. */
export interface KeyDirectory {
  /**
   * Synchronous for known keys and for texts that cannot be keys. An unknown key waits for one query of
   * Postgres, shared by all that wait.
   */
  find(key: string): CallerLookup | Promise<CallerLookup>
  /** The same of a key whose client signs, by its id. A signature has still to prove it. */
  findSigner(keyId: string): CallerLookup | Promise<CallerLookup>
  /** The same of the key of an identity, by its id. The caller has proven whose it is. */
  findIdentity(keyId: string): CallerLookup | Promise<CallerLookup>
  /** Tells whether `proves` holds for the secret that belongs to a key's id. */
  provesSigner(keyId: string, proves: (secret: string) => boolean): boolean
  /** Tells whether the keys were read at least once. */
  readonly ready: boolean
  /** Resolves when the keys were read for the first time. */
  whenReady(): Promise<void>
  /** Calls `listener` with each key that becomes inactive. Returns a function that removes the listener. */
  onDeactivated(listener: (keyId: string) => void): () => void
  stats(): KeyDirectoryStats
  close(): Promise<void>
}

const USE_PERIOD_MS = 60_000
/** New keys wait for no longer, and neither do keys that were revoked at the same moment. */
const FIRST_MS = 1_000

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
  readonly #watched: WatchedTable<KeyState, readonly KeyRecord[]>
  #graceOver = false
  readonly #periodTimer: NodeJS.Timeout
  #recording: Promise<void> | null = null

  constructor(options: KeyDirectoryOptions) {
    const { pool, redisUrl, redisPrefix, log } = options
    this.#options = options
    const clock = options.clock ?? new StoreClock({ log })
    const table = new KeyTable(options.peppers)
    this.#clock = clock
    this.#table = table
    this.#watched = new WatchedTable({
      readState: () => readKeyState(pool),
      readChanges: (version) => this.#readChanges(version),
      readAll: () => selectKeyRecords(pool),
      memory: {
        beginReading: () => table.beginReading(),
        update: (records) => this.#deactivate(table.update(records, clock.now())),
        endReading: () => this.#deactivate(table.endReading()),
      },
      listen:
        redisUrl === null
          ? null
          : (onAnnounced) => listenForKeyChanges(redisUrl, redisPrefix, log, onAnnounced),
      now: () => clock.asks(),
      onState: ({ nowMs }, askedAtMs) => {
        if (!Number.isNaN(nowMs)) clock.learn(nowMs, askedAtMs)
      },
      onPolled: () => this.#afterPoll(),
      onFailed: () => this.#endGrace(),
      onAnswered: () => {
        this.#graceOver = false
      },
      unreadable: { event: 'keys.unreadable', message: 'API keys cannot be read from Postgres' },
      readAgain: { event: 'keys.read_again', message: 'API keys are read from Postgres again' },
      log,
    })
    this.#periodTimer = setInterval(() => table.beginPeriod(), USE_PERIOD_MS).unref()
  }

  get ready(): boolean {
    return this.#watched.ready
  }

  whenReady(): Promise<void> {
    return this.#watched.whenReady()
  }

  find(key: string): CallerLookup | Promise<CallerLookup> {
    const found = this.#table.find(key, this.#clock.now())
    return this.#answer(found) ?? this.#findAfterRefresh((nowMs) => this.#table.find(key, nowMs))
  }

  findSigner(keyId: string): CallerLookup | Promise<CallerLookup> {
    const found = this.#table.findSigner(keyId, this.#clock.now())
    return this.#answer(found) ?? this.#findAfterRefresh((nowMs) => this.#table.findSigner(keyId, nowMs))
  }

  findIdentity(keyId: string): CallerLookup | Promise<CallerLookup> {
    const found = this.#table.findIdentity(keyId, this.#clock.now())
    return this.#answer(found) ?? this.#findAfterRefresh((nowMs) => this.#table.findIdentity(keyId, nowMs))
  }

  provesSigner(keyId: string, proves: (secret: string) => boolean): boolean {
    return this.#table.provesSigner(keyId, proves)
  }

  /** `null`: what is known here is not enough, and Postgres can be asked. */
  #answer(found: CallerLookup | null): CallerLookup | null {
    if (found !== null) return this.#graceOver && found.kind !== 'unknown' ? UNAVAILABLE : found
    return this.#watched.isReachable === false || this.#watched.isClosed ? UNAVAILABLE : null
  }

  async #findAfterRefresh(find: (nowMs: number) => CallerLookup | null): Promise<CallerLookup> {
    const answered = await this.#watched.refresh()
    return find(this.#clock.now()) ?? (answered ? UNKNOWN : UNAVAILABLE)
  }

  onDeactivated(listener: (keyId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stats(): KeyDirectoryStats {
    const { isReachable, staleMs } = this.#watched
    return { keys: this.#table.size, storeReachable: isReachable === true, staleMs }
  }

  async close(): Promise<void> {
    clearInterval(this.#periodTimer)
    await this.#watched.close()
    if (this.#watched.isReachable) {
      await this.#recording
      await this.#recordUse()
    }
  }

  async #readChanges(version: bigint): Promise<readonly KeyRecord[] | null> {
    const { pool, readFirst } = this.#options
    const records = await selectChangedKeys(pool, version)
    const isNoneNew = records?.every((record) => this.#table.has(record)) === true
    if (!isNoneNew && readFirst !== undefined) await settledWithin(readFirst(), FIRST_MS)
    return records
  }

  #afterPoll(): void {
    this.#deactivate(this.#table.expire(this.#clock.now()))
    this.#recording ??= this.#recordUse().finally(() => {
      this.#recording = null
    })
  }

  #endGrace(): void {
    const { graceSeconds, log } = this.#options
    const { staleMs } = this.#watched
    if (staleMs === null || this.#graceOver) return
    this.#graceOver = staleMs >= graceSeconds * 1000
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
    const keyIds = this.#watched.isReachable === true ? this.#table.takeUsed() : []
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
