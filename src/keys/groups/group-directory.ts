import type { Logger } from '../../lib/logger.ts'
import { WatchedTable } from '../../lib/watched-table.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type KeyState, readKeyState } from '../key-version.ts'
import { MOST_LEVELS } from './group-moves.ts'

/** The present group of a client or a group. */
interface PlacedMember {
  readonly id: string
  /** `null`: in none. */
  readonly groupId: string | null
  readonly isGroup: boolean
}

const NONE: readonly string[] = []

/** The groups that clients are in, as far as this process knows them. */
class GroupTable {
  /** The group of each client and group that is in one. */
  readonly #parents = new Map<string, string>()
  /** Those that were asked for since the last change. */
  readonly #chains = new Map<string, readonly string[]>()
  /** The members that a reading of all of them has found; `null`: none is under way. */
  #found: Set<string> | null = null

  /** The ids of the groups that a client is in, the nearest first. The list stays the same object while nothing changes. */
  of(clientId: string): readonly string[] {
    const known = this.#chains.get(clientId)
    if (known !== undefined) return known
    const nearest = this.#parents.get(clientId)
    if (nearest === undefined) return NONE
    const chain: string[] = []
    // Members that are read page by page may stand in a ring for a moment.
    for (let at: string | undefined = nearest; at !== undefined && chain.length < MOST_LEVELS; )
      at = this.#parents.get(chain[chain.push(at) - 1] ?? '')
    this.#chains.set(clientId, chain)
    return chain
  }

  /** Brings in what changed. */
  update(members: Iterable<PlacedMember>): void {
    for (const { id, groupId, isGroup } of members) {
      this.#found?.add(id)
      if ((this.#parents.get(id) ?? null) === groupId) continue
      if (groupId === null) this.#parents.delete(id)
      else this.#parents.set(id, groupId)
      if (isGroup) this.#chains.clear()
      else this.#chains.delete(id)
    }
  }

  /** Begins a reading of all members, in any number of updates. */
  beginReading(): void {
    this.#found = new Set()
  }

  /** Removes every member that the reading has not found. */
  endReading(): void {
    const found = this.#found ?? new Set()
    this.#found = null
    const lost = [...this.#parents.keys()].filter((id) => !found.has(id))
    this.update(lost.map((id) => ({ id, groupId: null, isGroup: true })))
  }
}

export interface GroupDirectoryOptions {
  /** As that of the keys: a poll must not wait behind other queries. */
  readonly pool: Postgres
  readonly log: Logger
}

/**
 * Which groups each client is in now, in memory, at most a second behind Postgres. With Postgres away, the last known ones
 * hold, without an end.
 */
export interface GroupDirectory {
  /**
   * The ids of the groups that a client is in, the nearest first, at most five. The list stays the same object while
   * nothing changes. Empty: it is in none, or none is known yet.
   */
  of(clientId: string): readonly string[]
  /** Tells whether the groups were read at least once. */
  readonly ready: boolean
  /** Resolves when they were read for the first time. */
  whenReady(): Promise<void>
  /** Reads what changed before this call. Gives whether Postgres answered. */
  refresh(): Promise<boolean>
  close(): Promise<void>
}

/** Opens the directory and begins to poll. Without Postgres it keeps trying and is not `ready`. */
export function openGroupDirectory({ pool, log }: GroupDirectoryOptions): GroupDirectory {
  const table = new GroupTable()
  const watched = new WatchedTable<KeyState, readonly PlacedMember[]>({
    readState: () => readKeyState(pool),
    readChanges: (since) => selectChanged(pool, since),
    readAll: () => selectPages(pool),
    memory: table,
    // A move that is known within half a second is soon enough: it needs no connection of its own.
    listen: null,
    unreadable: { event: 'groups.unreadable', message: 'groups cannot be read from Postgres' },
    readAgain: { event: 'groups.read_again', message: 'groups are read from Postgres again' },
    log,
  })
  return {
    of: (clientId) => table.of(clientId),
    get ready() {
      return watched.ready
    },
    whenReady: () => watched.whenReady(),
    refresh: () => watched.refresh(),
    close: () => watched.close(),
  }
}

/** This many rows a page keep the pauses of the event loop to a few milliseconds. */
const PAGE_ROWS = 2_000
/** More changes than these are read with all members, page by page. */
const MAX_CHANGED = 20_000

/** The last row of each says where it is: it is also the one that changed last. */
const SELECT = `
select distinct on (m.id) m.id, m.group_id as "groupId", g.id is not null as "isGroup"
from ${SCHEMA}.group_members m left join ${SCHEMA}.groups g on g.id = m.id`

async function* selectPages(pool: Postgres): AsyncGenerator<readonly PlacedMember[]> {
  let after = ''
  for (;;) {
    const { rows } = await pool.query<PlacedMember>(
      `${SELECT} where m.id > $1 order by m.id, m.from_day desc limit ${PAGE_ROWS}`,
      [after],
    )
    yield rows
    const last = rows[PAGE_ROWS - 1]
    if (last === undefined) return
    after = last.id
  }
}

async function selectChanged(pool: Postgres, since: bigint): Promise<readonly PlacedMember[] | null> {
  const { rows } = await pool.query<PlacedMember>(
    `${SELECT} where m.version > $1 order by m.id, m.from_day desc limit ${MAX_CHANGED + 1}`,
    [since],
  )
  return rows.length > MAX_CHANGED ? null : rows
}
