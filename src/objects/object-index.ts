// Whose an object is: what this process saw made, and what Postgres knows, remembered.
import { foldObjectId } from '../call/object-event.ts'

/** Whose an object is. */
export interface ObjectOwner {
  readonly clientId: string
  readonly keyId: string
  /** The model that the request named which made it; absent or `null`: none that is known. */
  readonly model?: string | null
}

/** An owner as the store gives it. */
export interface OwnedObject extends ObjectOwner {
  readonly upstream: string
  readonly foldedId: string
}

export interface ObjectIndexOptions {
  /** The owners of those of `ids` (folded) that have one, at any of these upstreams. Rejects when the store is away. */
  readonly selectOwners: (
    upstreams: readonly string[],
    ids: readonly string[],
  ) => Promise<readonly OwnedObject[]>
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

/** Owners of ids, by folded id; an id that no client of ours made is not in it. */
export type Owners = ReadonlyMap<string, ObjectOwner>

/** Objects remembered with their owner, which never changes: some hundred bytes each. */
const MAX_OWNED = 100_000
/** Ids that no client made, and how long that is believed: another gateway may have seen one made since. */
const MAX_UNOWNED = 20_000
const UNOWNED_MS = 1_000

const NO_OWNERS: Owners = new Map()

export class ObjectIndex {
  readonly #options: ObjectIndexOptions
  readonly #now: () => number
  readonly #owned = new Map<string, ObjectOwner>()
  /** When the store was asked. */
  readonly #unowned = new Map<string, number>()

  constructor(options: ObjectIndexOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** An object was made through this process; the first who made an id keeps it. */
  add(upstream: string, id: string, owner: ObjectOwner): void {
    const key = keyOf(upstream, foldObjectId(id))
    if (!this.#owned.has(key)) this.#keep(key, owner)
    this.#unowned.delete(key)
  }

  /**
   * The owners of `ids` at upstreams that share one account. At once where all are known.
   *
   * @throws When the store had to be asked and is away, unless all that is unknown could be anybody's anyway: then
   * the promise rejects.
   */
  find(upstreams: readonly string[], ids: readonly string[]): Owners | Promise<Owners> {
    if (ids.length === 0) return NO_OWNERS
    const owners = new Map<string, ObjectOwner>()
    const unknown = new Set<string>()
    for (const id of ids) {
      const folded = foldObjectId(id)
      const owner = this.#findOwned(upstreams, folded)
      if (owner !== null) owners.set(folded, owner)
      else if (!this.#isUnowned(upstreams, folded)) unknown.add(folded)
    }
    return unknown.size === 0 ? owners : this.#ask(upstreams, unknown, owners)
  }

  /** The owners that this process knows by itself, without the store. */
  findKnown(upstreams: readonly string[], id: string): ObjectOwner | null {
    return this.#findOwned(upstreams, foldObjectId(id))
  }

  async #ask(
    upstreams: readonly string[],
    unknown: ReadonlySet<string>,
    owners: Map<string, ObjectOwner>,
  ): Promise<Owners> {
    const askedAt = this.#now()
    const found = await this.#options.selectOwners(upstreams, [...unknown])
    for (const { upstream, foldedId, clientId, keyId, model } of found) {
      const owner = { clientId, keyId, model: model ?? null }
      this.#keep(keyOf(upstream, foldedId), owner)
      owners.set(foldedId, owner)
    }
    for (const id of unknown) {
      if (owners.has(id)) continue
      // One that was made meanwhile through this process is known better than the store knew it.
      const owner = this.#findOwned(upstreams, id)
      if (owner !== null) owners.set(id, owner)
      else this.#recordUnowned(keyOf(upstreams[0] ?? '', id), askedAt)
    }
    return owners
  }

  #findOwned(upstreams: readonly string[], folded: string): ObjectOwner | null {
    for (const upstream of upstreams) {
      const key = keyOf(upstream, folded)
      const owner = this.#owned.get(key)
      if (owner === undefined) continue
      // The least recently used is dropped first.
      this.#owned.delete(key)
      this.#owned.set(key, owner)
      return owner
    }
    return null
  }

  #isUnowned(upstreams: readonly string[], folded: string): boolean {
    const askedAt = this.#unowned.get(keyOf(upstreams[0] ?? '', folded))
    return askedAt !== undefined && this.#now() - askedAt < UNOWNED_MS
  }

  #keep(key: string, owner: ObjectOwner): void {
    this.#owned.delete(key)
    this.#owned.set(key, owner)
    dropOldest(this.#owned, MAX_OWNED)
  }

  #recordUnowned(key: string, askedAt: number): void {
    this.#unowned.delete(key)
    this.#unowned.set(key, askedAt)
    dropOldest(this.#unowned, MAX_UNOWNED)
  }
}

function keyOf(upstream: string, folded: string): string {
  return `${upstream}\0${folded}`
}

function dropOldest(map: Map<string, unknown>, limit: number): void {
  if (map.size <= limit) return
  const [first] = map.keys()
  if (first !== undefined) map.delete(first)
}
