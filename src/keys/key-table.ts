import type { CallerLookup, KeyOwner } from '../call/call-ports.ts'
import { hashForeignKey, hashKey, isForeignKeyShaped, isKeyIdShaped, isKeyShaped } from '../domain/api-key.ts'
import type { KeyRecord } from './key-records.ts'
import { Signers } from './signers.ts'

const UNKNOWN: CallerLookup = { kind: 'unknown' }

/**
 * One key in memory, without what only a key in use needs. The object is the same for the life of the process; only its
 * answers change.
 */
class KeyEntry {
  readonly keyId: string
  keyName: string
  clientId: string
  clientName: string
  models: readonly string[] | null
  expiresAtMs: number | null
  isActive: boolean
  clientDisabled: boolean
  /** The answer, made at the key's first use. */
  lookup: CallerLookup | null = null
  /** The period in which its use was last saved. */
  usedInPeriod = -1
  /** The reading of all keys that found it last. */
  seenIn: number

  constructor(record: KeyRecord, isActive: boolean, seenIn: number) {
    this.keyId = record.keyId
    this.keyName = record.keyName
    this.clientId = record.clientId
    this.clientName = record.clientName
    this.models = record.models
    this.expiresAtMs = record.expiresAtMs
    this.isActive = isActive
    this.clientDisabled = record.clientDisabled
    this.seenIn = seenIn
  }
}

/** About 15 MB of texts; beyond that they are hashed again at their next use. */
const MAX_TEXTS = 100_000

const HOUR_MS = 3_600_000

interface Expiring {
  /** Milliseconds since 1970; `null`: never. */
  readonly expiresAtMs: number | null
}

/**
 * Things by the hour in which they expire, so that one that expires costs its hour and not all of a
 * million.
 */
class ExpiryHours<T extends Expiring> {
  readonly #hours = new Map<number, Set<T>>()

  /** Adds a thing, or adds it again when its time has changed: the old hour then finds it too, and leaves it. */
  add(thing: T): void {
    if (thing.expiresAtMs === null) return
    const hour = Math.floor(thing.expiresAtMs / HOUR_MS)
    const things = this.#hours.get(hour)
    if (things === undefined) this.#hours.set(hour, new Set([thing]))
    else things.add(thing)
  }

  /** Removes and returns what has expired by now. */
  take(nowMs: number): readonly T[] {
    const taken: T[] = []
    const now = Math.floor(nowMs / HOUR_MS)
    for (const [hour, things] of this.#hours) {
      if (hour > now) continue
      for (const thing of things) {
        const { expiresAtMs } = thing
        if (expiresAtMs !== null && nowMs < expiresAtMs && Math.floor(expiresAtMs / HOUR_MS) === hour)
          continue
        things.delete(thing)
        if (expiresAtMs !== null && nowMs >= expiresAtMs) taken.push(thing)
      }
      if (things.size === 0) this.#hours.delete(hour)
    }
    return taken
  }
}

/** Labels that many keys have, such as `default`, are few. Others would only fill the map. */
const MAX_LABELS = 1_000

/** Keeps what many keys have in common once: their client's id and name, labels, and lists of models. */
class SharedTexts {
  readonly #clients = new Map<string, { readonly clientId: string; readonly clientName: string }>()
  readonly #labels = new Map<string, string>()
  readonly #models = new Map<string, readonly string[]>()

  /** The same record, with texts that were met before in place of its own. */
  share(record: KeyRecord): KeyRecord {
    const { clientId, clientName, models } = record
    let client = this.#clients.get(clientId)
    if (client === undefined || client.clientName !== clientName) {
      client = { clientId, clientName }
      this.#clients.set(clientId, client)
    }
    return {
      ...record,
      clientId: client.clientId,
      clientName: client.clientName,
      keyName: known(this.#labels, record.keyName, record.keyName),
      models: models === null ? null : known(this.#models, models.join(' '), models),
    }
  }
}

function known<T>(all: Map<string, T>, name: string, value: T): T {
  const found = all.get(name)
  if (found !== undefined) return found
  if (all.size < MAX_LABELS) all.set(name, value)
  return value
}

/**
 * The keys known to this process, found without I/O, and without hashing from a key's second use on. The
 * texts of keys in use stay in this process's memory. A million keys are some hundred megabytes, so texts that
 * many keys have in common are kept once.
 */
export class KeyTable {
  readonly #peppers: readonly string[]
  readonly #byDigest = new Map<string, KeyEntry>()
  /** Keys that another gateway made. While there is none, nothing is hashed for them. */
  readonly #foreign = new Map<string, KeyEntry>()
  /** Keys without a text, which a company's own identities have, by their ids. */
  readonly #identities = new Map<string, KeyEntry>()
  readonly #byText = new Map<string, KeyEntry>()
  readonly #expiring = new ExpiryHours<KeyEntry>()
  readonly #signers: Signers<KeyEntry>
  #texts = new SharedTexts()
  #reading = 0
  #period = 0
  #used: string[] = []

  /** `peppers`: the secrets that keys may be hashed with. */
  constructor(peppers: readonly string[]) {
    this.#peppers = peppers
    this.#signers = new Signers(peppers)
  }

  get size(): number {
    return this.#byDigest.size + this.#foreign.size + this.#identities.size
  }

  /** The key with this text; `null`: unknown here, although it has the form of a key. */
  find(key: string, nowMs: number): CallerLookup | null {
    const entry = this.#byText.get(key) ?? this.#findByHash(key)
    if (entry === undefined) return isKeyShaped(key) ? null : UNKNOWN
    const lookup = answerOf(entry, nowMs)
    if (lookup === entry.lookup) this.#use(entry)
    return lookup
  }

  /** The key with this id that stands for an identity, which was proven; `null`: unknown here. */
  findIdentity(keyId: string, nowMs: number): CallerLookup | null {
    const entry = this.#identities.get(keyId)
    if (entry === undefined) return null
    const lookup = answerOf(entry, nowMs)
    this.#use(entry)
    return lookup
  }

  /** The key with this id, which its client signs with; `null`: unknown here, although it has the form of an id. */
  findSigner(keyId: string, nowMs: number): CallerLookup | null {
    const entry = this.#signers.find(keyId)
    if (entry === null) return isKeyIdShaped(keyId) ? null : UNKNOWN
    return answerOf(entry, nowMs)
  }

  /** Tells whether `proves` holds for the secret of the key with this id: then the key was used. */
  provesSigner(keyId: string, proves: (secret: string) => boolean): boolean {
    const secret = this.#signers.secretOf(keyId)
    if (secret === null || !proves(secret)) return false
    const entry = this.#signers.find(keyId)
    if (entry !== null) this.#use(entry)
    return true
  }

  #use(entry: KeyEntry): void {
    if (entry.usedInPeriod === this.#period) return
    entry.usedInPeriod = this.#period
    if (entry.lookup?.kind === 'active') this.#used.push(entry.keyId)
  }

  #findByHash(key: string): KeyEntry | undefined {
    if (isKeyShaped(key)) return this.#findIn(this.#byDigest, hashKey, key)
    if (this.#foreign.size === 0 || !isForeignKeyShaped(key)) return undefined
    return this.#findIn(this.#foreign, hashForeignKey, key)
  }

  #findIn(entries: ReadonlyMap<string, KeyEntry>, hash: typeof hashKey, key: string): KeyEntry | undefined {
    for (const pepper of this.#peppers) {
      const entry = entries.get(digestText(hash(key, pepper)))
      if (entry === undefined) continue
      if (this.#byText.size >= MAX_TEXTS) this.#byText.clear()
      this.#byText.set(key, entry)
      return entry
    }
    return undefined
  }

  /** Tells whether the key is known here, whatever has changed of it. */
  has(record: KeyRecord): boolean {
    const [entries, place] = this.#placeOf(record)
    return entries.has(place)
  }

  /** Replaces what is known of these keys. Returns the ids of those that were active and no longer are. */
  update(records: Iterable<KeyRecord>, nowMs: number): readonly string[] {
    const deactivated: string[] = []
    for (const record of records) {
      const isActive = !record.revoked && (record.expiresAtMs === null || nowMs < record.expiresAtMs)
      const [entries, place] = this.#placeOf(record)
      const entry = entries.get(place)
      const known = this.#texts.share(record)
      if (entry === undefined) {
        const added = new KeyEntry(known, isActive, this.#reading)
        entries.set(place, added)
        this.#signers.update(added, record.signing)
        if (isActive) this.#expiring.add(added)
        continue
      }
      if (isInUse(entry) && !(isActive && !record.clientDisabled)) deactivated.push(entry.keyId)
      const isMoved = entry.expiresAtMs !== known.expiresAtMs || !entry.isActive
      entry.keyName = known.keyName
      entry.clientId = known.clientId
      entry.clientName = known.clientName
      entry.models = known.models
      entry.expiresAtMs = known.expiresAtMs
      entry.isActive = isActive
      entry.clientDisabled = known.clientDisabled
      entry.lookup = null
      entry.seenIn = this.#reading
      this.#signers.update(entry, record.signing)
      if (isActive && isMoved) this.#expiring.add(entry)
    }
    return deactivated
  }

  #placeOf({ digestOf, digest, keyId }: KeyRecord): [Map<string, KeyEntry>, string] {
    switch (digestOf) {
      case 'key':
        return [this.#byDigest, digestText(digest)]
      case 'sha256':
        return [this.#foreign, digestText(digest)]
      case 'identity':
        return [this.#identities, keyId]
      default:
        return digestOf satisfies never
    }
  }

  /** Begins a reading of all keys, in any number of updates. */
  beginReading(): void {
    this.#reading += 1
    this.#texts = new SharedTexts()
  }

  /** Removes every key that the reading has not found: the store has lost it. Returns the ids of those that were active. */
  endReading(): readonly string[] {
    const deactivated: string[] = []
    let lost = 0
    for (const entries of [this.#byDigest, this.#foreign, this.#identities]) {
      for (const [place, entry] of entries) {
        if (entry.seenIn === this.#reading) continue
        entries.delete(place)
        this.#signers.update(entry, null)
        lost += 1
        if (isInUse(entry)) deactivated.push(entry.keyId)
        entry.isActive = false // it may still wait for its expiry
      }
    }
    if (lost > 0) this.#byText.clear()
    return deactivated
  }

  /** Deactivates expired keys. Returns the ids of those that were active. */
  expire(nowMs: number): readonly string[] {
    const deactivated: string[] = []
    for (const entry of this.#expiring.take(nowMs)) {
      if (!entry.isActive) continue
      if (isInUse(entry)) deactivated.push(entry.keyId)
      entry.isActive = false
      entry.lookup = null
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

function answerOf(entry: KeyEntry, nowMs: number): CallerLookup {
  const lookup = entry.lookup ?? lookupOf(entry)
  entry.lookup = lookup
  const isOver = entry.expiresAtMs !== null && nowMs >= entry.expiresAtMs
  return isOver && lookup.kind !== 'client_disabled'
    ? { kind: 'key_inactive', isExpired: true, of: ownerOf(entry) }
    : lookup
}

function isInUse({ isActive, clientDisabled }: KeyEntry): boolean {
  return isActive && !clientDisabled
}

function ownerOf({ clientId, keyId }: KeyEntry): KeyOwner {
  return { clientId, keyId }
}

function lookupOf(entry: KeyEntry): CallerLookup {
  if (!entry.isActive) return { kind: 'key_inactive', of: ownerOf(entry) }
  if (entry.clientDisabled) return { kind: 'client_disabled', of: ownerOf(entry) }
  const { clientId, clientName, keyId, keyName, models } = entry
  return { kind: 'active', caller: { clientId, clientName, keyId, keyName, models } }
}

/** A map's key that costs one small string: a byte a character. */
function digestText(digest: Buffer): string {
  return digest.toString('latin1')
}
