import { MOST_LEVELS } from './group-moves.ts'

/** The present group of a client or a group. */
export interface PlacedMember {
  readonly id: string
  /** `null`: in none. */
  readonly groupId: string | null
  readonly isGroup: boolean
}

const NONE: readonly string[] = []

/** The groups that clients are in, as far as this process knows them. */
export class GroupTable {
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
