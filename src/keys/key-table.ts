import type { CallerLookup } from '../call/caller.ts'
import { hashKey, isKeyShaped } from '../domain/api-key.ts'
import type { KeyRecord } from './key-records.ts'

/** One key in memory. The object is the same for the life of the process; only its answers change. */
interface Entry {
  readonly keyId: string
  readonly digest: string
  lookup: CallerLookup
  expiresAtMs: number
  /** The period in which its use was last saved. */
  usedInPeriod: number
}

const UNKNOWN: CallerLookup = { kind: 'unknown' }
const KEY_INACTIVE: CallerLookup = { kind: 'key_inactive' }
const CLIENT_DISABLED: CallerLookup = { kind: 'client_disabled' }

/** About 15 MB of texts; beyond that they are hashed again at their next use. */
const MAX_TEXTS = 100_000

/**
 * The keys known to this process, found without I/O, and without hashing from a key's second use on. The
 * texts of keys in use stay in this process's memory.
 */
export class KeyTable {
  readonly #peppers: readonly string[]
  readonly #byId = new Map<string, Entry>()
  readonly #byDigest = new Map<string, Entry>()
  readonly #byText = new Map<string, Entry>()
  #nextExpiryMs = Number.POSITIVE_INFINITY
  #period = 0
  #used: string[] = []

  /** `peppers`: the secrets that keys may be hashed with. */
  constructor(peppers: readonly string[]) {
    this.#peppers = peppers
  }

  get size(): number {
    return this.#byId.size
  }

  /** The key with this text; `null`: unknown here, although it has the form of a key. */
  find(key: string, nowMs: number): CallerLookup | null {
    const entry = this.#byText.get(key) ?? this.#findByHash(key)
    if (entry === undefined) return isKeyShaped(key) ? null : UNKNOWN
    if (nowMs >= entry.expiresAtMs && entry.lookup.kind === 'active') return KEY_INACTIVE
    if (entry.usedInPeriod !== this.#period) {
      entry.usedInPeriod = this.#period
      if (entry.lookup.kind === 'active') this.#used.push(entry.keyId)
    }
    return entry.lookup
  }

  #findByHash(key: string): Entry | undefined {
    if (!isKeyShaped(key)) return undefined
    for (const pepper of this.#peppers) {
      const entry = this.#byDigest.get(digestText(hashKey(key, pepper)))
      if (entry === undefined) continue
      if (this.#byText.size >= MAX_TEXTS) this.#byText.clear()
      this.#byText.set(key, entry)
      return entry
    }
    return undefined
  }

  /** Replaces what is known of these keys. Returns the ids of those that were active and no longer are. */
  update(records: Iterable<KeyRecord>, nowMs: number): readonly string[] {
    const deactivated: string[] = []
    for (const fact of records) {
      const lookup = lookupFrom(fact, nowMs)
      const digest = digestText(fact.digest)
      const expiresAtMs = fact.expiresAtMs ?? Number.POSITIVE_INFINITY
      if (lookup.kind === 'active') this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAtMs)
      const entry = this.#byId.get(fact.keyId)
      if (entry === undefined) {
        const added = { keyId: fact.keyId, digest, lookup, expiresAtMs, usedInPeriod: -1 }
        this.#byId.set(fact.keyId, added)
        this.#byDigest.set(digest, added)
      } else {
        if (entry.lookup.kind === 'active' && lookup.kind !== 'active') deactivated.push(fact.keyId)
        entry.lookup = lookup
        entry.expiresAtMs = expiresAtMs
      }
    }
    return deactivated
  }

  /** Removes every key not listed: the store has lost it. Returns the ids of those that were active. */
  keepOnly(keyIds: ReadonlySet<string>): readonly string[] {
    const lost = [...this.#byId.values()].filter(({ keyId }) => !keyIds.has(keyId))
    for (const { keyId, digest } of lost) {
      this.#byId.delete(keyId)
      this.#byDigest.delete(digest)
    }
    if (lost.length > 0) this.#byText.clear()
    return lost.filter(({ lookup }) => lookup.kind === 'active').map(({ keyId }) => keyId)
  }

  /** Deactivates expired keys. Returns the ids of those that were active. */
  expire(nowMs: number): readonly string[] {
    if (nowMs < this.#nextExpiryMs) return []
    const deactivated: string[] = []
    this.#nextExpiryMs = Number.POSITIVE_INFINITY
    for (const entry of this.#byId.values()) {
      if (entry.lookup.kind !== 'active') continue
      if (nowMs < entry.expiresAtMs) this.#nextExpiryMs = Math.min(this.#nextExpiryMs, entry.expiresAtMs)
      else {
        entry.lookup = KEY_INACTIVE
        deactivated.push(entry.keyId)
      }
    }
    return deactivated
  }

  /** The keys whose first use in this period has not been collected yet. */
  takeUsed(): readonly string[] {
    const used = this.#used
    this.#used = []
    return used
  }

  /** Begins a new period: every key's next use counts as its first. */
  beginPeriod(): void {
    this.#period += 1
  }
}

function lookupFrom(fact: KeyRecord, nowMs: number): CallerLookup {
  if (fact.revoked || (fact.expiresAtMs !== null && nowMs >= fact.expiresAtMs)) return KEY_INACTIVE
  if (fact.clientDisabled) return CLIENT_DISABLED
  const { clientId, clientName, keyId, keyName, models } = fact
  return { kind: 'active', caller: { clientId, clientName, keyId, keyName, models } }
}

/** A map's key that costs one small string: a byte a character. */
function digestText(digest: Buffer): string {
  return digest.toString('latin1')
}
