import type { Limit } from '../limit.ts'
import type { ChangedLimit } from '../table/limit-rows.ts'

const NO_LIMITS: readonly Limit[] = []

/** The limits of one client that are its own. */
class ClientLimits {
  readonly own: Limit[] = []
  /** With the defaults that hold for it; `null`: not worked out since the last change. */
  all: readonly Limit[] | null = null
}

/** Clients whose limits changed; `null`: any. */
export type ChangedClients = ReadonlySet<string> | null

/** The limits known to this process. */
export class LimitTable {
  readonly #byId = new Map<string, Limit>()
  readonly #byClient = new Map<string, ClientLimits>()
  #defaults: readonly Limit[] = NO_LIMITS
  /** The limits that a reading of all of them has found; `null`: none is under way. */
  #found: Set<string> | null = null

  get size(): number {
    return this.#byId.size
  }

  /**
   * The limits that hold for calls of a client. An own one of the same kind, period and softness for the same model
   * takes a default's place. The list stays the same object until one of them changes.
   */
  of(clientId: string): readonly Limit[] {
    const client = this.#byClient.get(clientId)
    if (client === undefined) return this.#defaults
    client.all ??= withDefaults(client.own, this.#defaults)
    return client.all
  }

  /** Brings in what changed. Returns whose limits are others now; an empty set: those of no client. */
  update(changes: Iterable<ChangedLimit>): ChangedClients {
    const clients = new Set<string>()
    let isDefault = false
    for (const { id, limit } of changes) {
      this.#found?.add(id)
      const known = this.#byId.get(id) ?? null
      if (known === null && limit === null) continue
      if (known !== null && limit !== null && isSameLimit(known, limit)) continue
      this.#replace(id, known, limit)
      const clientId = (limit ?? known)?.clientId ?? null
      if (clientId === null) isDefault = true
      else clients.add(clientId)
    }
    if (!isDefault) return clients
    this.#defaults = [...this.#byId.values()].filter(({ clientId }) => clientId === null)
    for (const client of this.#byClient.values()) client.all = null
    return null
  }

  /** Begins a reading of all limits, in any number of updates. */
  beginReading(): void {
    this.#found = new Set()
  }

  /** Removes every limit that the reading has not found. Returns whose limits are others now. */
  endReading(): ChangedClients {
    const found = this.#found ?? new Set()
    this.#found = null
    const lost = [...this.#byId.keys()].filter((id) => !found.has(id))
    return this.update(lost.map((id) => ({ id, limit: null })))
  }

  #replace(id: string, known: Limit | null, limit: Limit | null): void {
    if (limit === null) this.#byId.delete(id)
    else this.#byId.set(id, limit)
    const clientId = (limit ?? known)?.clientId ?? null
    if (clientId === null) return
    let client = this.#byClient.get(clientId)
    if (client === undefined) {
      client = new ClientLimits()
      this.#byClient.set(clientId, client)
    }
    client.all = null
    const index = known === null ? -1 : client.own.indexOf(known)
    if (limit !== null && index >= 0) client.own[index] = limit
    else if (limit !== null) client.own.push(limit)
    else if (index >= 0) client.own.splice(index, 1)
    if (client.own.length === 0) this.#byClient.delete(clientId)
  }
}

/** A client's own limits, and those defaults whose place none of them takes. */
export function withDefaults(own: readonly Limit[], defaults: readonly Limit[]): readonly Limit[] {
  if (defaults.length === 0) return own.slice()
  return [...own, ...defaults.filter((limit) => !own.some((other) => takesPlaceOf(other, limit)))]
}

function takesPlaceOf(own: Limit, other: Limit): boolean {
  return (
    own.keyId === null &&
    own.kind === other.kind &&
    own.per === other.per &&
    own.isSoft === other.isSoft &&
    own.model === other.model
  )
}

function isSameLimit(one: Limit, other: Limit): boolean {
  return (
    one.amount === other.amount &&
    one.raise?.amount === other.raise?.amount &&
    one.raise?.untilMs === other.raise?.untilMs &&
    one.since === other.since &&
    one.countsCached === other.countsCached &&
    one.allowsUnpriced === other.allowsUnpriced &&
    one.whenAlone === other.whenAlone &&
    one.clientId === other.clientId &&
    one.keyId === other.keyId &&
    one.formerKeys.length === other.formerKeys.length &&
    one.model === other.model &&
    one.kind === other.kind &&
    one.per === other.per &&
    one.isSoft === other.isSoft
  )
}
