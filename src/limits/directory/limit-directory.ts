import { listenForKeyChanges } from '../../keys/key-version.ts'
import type { Logger } from '../../lib/logger.ts'
import { type TableState, WatchedTable } from '../../lib/watched-table.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Limit } from '../limit.ts'
import type { OtherSubjects } from '../subject.ts'
import {
  type ChangedLimit,
  readLimitState,
  selectChangedLimits,
  selectLimitPages,
} from '../table/limit-rows.ts'
import { type ChangedClients, type GroupsOf, LimitTable } from './limit-table.ts'

export interface LimitDirectoryOptions {
  /** As that of the keys: a poll must not wait behind other queries. */
  readonly pool: Postgres
  /** Announces changes; `null`: polling only. */
  readonly redisUrl: string | null
  readonly redisPrefix: string
  /** Channels that the connection listens on beside. */
  readonly channels?: readonly string[]
  /** Absent: there are no groups. */
  readonly groupsOf?: GroupsOf
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
  /** Groups, and values of axes. */
  readonly others: OtherSubjects
  /** Their limits that may hold for calls of the client. */
  besides(clientId: string): readonly Limit[]
  /** Rises with every change that `of` shows. */
  readonly version: number
  /** Whether the limits were read at least once. */
  readonly ready: boolean
  /** Resolves when the limits were read for the first time. */
  whenReady(): Promise<void>
  /** Reads what changed before this call. Gives whether Postgres answered. */
  refresh(): Promise<boolean>
  /** Calls `listener` after a change, with whose limits are others now. Returns a function that removes it. */
  onChange(listener: (clients: ChangedClients) => void): () => void
  stats(): LimitDirectoryStats
  close(): Promise<void>
}

/** Opens the directory and begins to poll. Without Postgres it keeps trying and is not `ready`. */
export function openLimitDirectory(options: LimitDirectoryOptions): LimitDirectory {
  return new PolledLimitDirectory(options)
}

class PolledLimitDirectory implements LimitDirectory {
  readonly #log: Logger
  readonly #table: LimitTable
  readonly #listeners = new Set<(clients: ChangedClients) => void>()
  readonly #watched: WatchedTable<TableState, readonly ChangedLimit[]>
  #version = 0

  constructor({ pool, redisUrl, redisPrefix, channels, groupsOf, log }: LimitDirectoryOptions) {
    const table = new LimitTable(groupsOf)
    this.#table = table
    this.#log = log
    this.#watched = new WatchedTable({
      readState: () => readLimitState(pool),
      readChanges: (version) => selectChangedLimits(pool, version),
      readAll: () => selectLimitPages(pool),
      memory: {
        beginReading: () => table.beginReading(),
        update: (limits) => this.#reportChange(table.update(limits)),
        endReading: () => this.#reportChange(table.endReading()),
      },
      listen:
        redisUrl === null
          ? null
          : (onAnnounced) =>
              listenForKeyChanges(redisUrl, redisPrefix, log, onAnnounced, 'tallygate limits', channels),
      unreadable: { event: 'limits.unreadable', message: 'limits cannot be read from Postgres' },
      readAgain: { event: 'limits.read_again', message: 'limits are read from Postgres again' },
      log,
    })
  }

  of(clientId: string): readonly Limit[] {
    return this.#table.of(clientId)
  }

  get others(): OtherSubjects {
    return this.#table.others
  }

  besides(clientId: string): readonly Limit[] {
    return this.#table.besides(clientId)
  }

  get version(): number {
    return this.#version
  }

  get ready(): boolean {
    return this.#watched.ready
  }

  whenReady(): Promise<void> {
    return this.#watched.whenReady()
  }

  refresh(): Promise<boolean> {
    return this.#watched.refresh()
  }

  onChange(listener: (clients: ChangedClients) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stats(): LimitDirectoryStats {
    const { isReachable, staleMs } = this.#watched
    return { limits: this.#table.size, storeReachable: isReachable === true, staleMs }
  }

  close(): Promise<void> {
    return this.#watched.close()
  }

  #reportChange(clients: ChangedClients): void {
    if (clients !== null && clients.size === 0) return
    this.#version += 1
    for (const listener of this.#listeners) {
      try {
        listener(clients)
      } catch (error) {
        this.#log.error(
          { event: 'limits.listener_failed', err: error },
          'a listener for changed limits failed',
        )
      }
    }
  }
}
