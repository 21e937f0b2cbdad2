import { hashKeyHash, pepperId } from '../../domain/api-key.ts'
import { randomBase62 } from '../../domain/base62.ts'
import { changing, lockKeyVersion } from '../../keys/key-version.ts'
import { newKeyId } from '../../keys/keys.ts'
import { setOneLimit } from '../../limits/table/change-limits.ts'
import { takeLimitVersion } from '../../limits/table/limit-rows.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { MappedLimit } from './map-limits.ts'
import type { LeftKey, PlannedClient, PlannedKey } from './plan-keys.ts'

/** A planned key and what came of it. */
export interface ImportedKey {
  readonly key: PlannedKey
  /** The name of its client here. */
  readonly client: string
  /** `known`: an import before has taken it, and nothing of it is changed. */
  readonly state: 'taken' | 'known'
}

export interface Imported {
  readonly keys: readonly ImportedKey[]
  readonly left: readonly LeftKey[]
  /** Names of clients that were made. */
  readonly clients: readonly string[]
}

export interface ImportOrder {
  readonly keys: readonly PlannedKey[]
  /** Every pepper that keys may be hashed with; the first hashes the imported ones. */
  readonly peppers: readonly string[]
  /** For the audit of limits. */
  readonly who: string
  /** Nothing is written; the answer is the same. */
  readonly isDry: boolean
}

class Undone extends Error {
  readonly imported: Imported

  constructor(imported: Imported) {
    super('a dry run')
    this.imported = imported
  }
}

/** Takes keys with their clients and limits, all or none. Keys and clients that an import before has taken stay as they are. */
export async function importKeys(pool: Postgres, order: ImportOrder): Promise<Imported> {
  try {
    return await inTransaction(pool, async (session) => {
      const imported = await importWithin(session, order)
      // What would be done is what was done: the transaction is taken back.
      if (order.isDry) throw new Undone(imported)
      return imported
    })
  } catch (error) {
    if (error instanceof Undone) return error.imported
    throw error
  }
}

async function importWithin(
  session: PostgresSession,
  { keys, peppers, who }: ImportOrder,
): Promise<Imported> {
  const [pepper] = peppers
  if (pepper === undefined) throw new Error('there is no secret to hash keys with')
  // Both before anything else, in the order that every change of keys with limits has: two imports run one after another.
  const limitVersion = await takeLimitVersion(session)
  await lockKeyVersion(session)
  const setAll = async (clientId: string, keyId: string | null, limits: readonly MappedLimit[]) => {
    for (const { model, ...order } of limits)
      await setOneLimit(session, { clientId, keyId, model }, order, who, limitVersion)
  }
  const known = await selectKnownKeys(session, keys, peppers)
  const clients = new Map<string, StoredClient>()
  const made: string[] = []
  const left: LeftKey[] = []
  const done: ImportedKey[] = []
  for (const key of keys) {
    const there = known.get(key.sha256)
    if (there !== undefined) {
      done.push({ key, client: there, state: 'known' })
      continue
    }
    const { client: planned } = key
    const found = clients.get(planned.origin) ?? (await findByOrigin(session, planned.origin))
    const client = found ?? (await insertClient(session, planned))
    if (client === null) {
      left.push({
        name: key.name,
        prefix: key.prefix,
        why: `other clients are named ${planned.name} and ${planned.otherName}`,
      })
      continue
    }
    if (found === null) {
      made.push(client.name)
      await setAll(client.id, null, planned.limits)
    }
    clients.set(planned.origin, client)
    const keyId = await insertKey(session, key, client.id, pepper)
    await setAll(client.id, keyId, key.limits)
    done.push({ key, client: client.name, state: 'taken' })
  }
  return { keys: done, left, clients: made }
}

interface StoredClient {
  readonly id: string
  readonly name: string
}

/** The clients' names of those keys that are here already, by their SHA-256, whichever pepper they are hashed with. */
async function selectKnownKeys(
  session: PostgresSession,
  keys: readonly PlannedKey[],
  peppers: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const sha256Of = new Map(
    keys.flatMap(({ sha256 }) =>
      peppers.map((pepper) => [hashKeyHash(sha256, pepper).toString('hex'), sha256] as const),
    ),
  )
  const { rows } = await session.query<{ digest: string; client: string }>(
    `select encode(k.digest, 'hex') as digest, c.name as client
     from unnest($1::text[]) wanted (hex)
     join ${SCHEMA}.keys k on k.digest = decode(wanted.hex, 'hex')
     join ${SCHEMA}.clients c on c.id = k.client_id`,
    [[...sha256Of.keys()]],
  )
  return new Map(rows.map(({ digest, client }) => [sha256Of.get(digest) ?? '', client]))
}

async function findByOrigin(session: PostgresSession, origin: string): Promise<StoredClient | null> {
  const { rows } = await session.query<StoredClient>(
    `select id, name from ${SCHEMA}.clients where origin = $1`,
    [origin],
  )
  return rows[0] ?? null
}

/** `null`: other clients have both of its names. An account there never gets into a client that was made here. */
async function insertClient(
  session: PostgresSession,
  { origin, name, otherName, isDisabled }: PlannedClient,
): Promise<StoredClient | null> {
  for (const wanted of [name, otherName]) {
    const { rows } = await session.query<StoredClient>(
      changing(`insert into ${SCHEMA}.clients (id, name, disabled, origin, version)
                select $1, $2, $3, $4, change.version from change
                on conflict (name) do nothing returning id, name`),
      [`cli_${randomBase62(20)}`, wanted, isDisabled, origin],
    )
    if (rows[0] !== undefined) return rows[0]
  }
  return null
}

async function insertKey(
  session: PostgresSession,
  { sha256, name, prefix, models, expiresAt, isRevoked }: PlannedKey,
  clientId: string,
  pepper: string,
): Promise<string> {
  const id = newKeyId()
  await session.query(
    changing(`insert into ${SCHEMA}.keys
        (id, client_id, name, prefix, digest, digest_of, pepper_id, models, expires_at, revoked_at, version)
      select $1, $2, $3, $4, $5, 'sha256', $6, $7, $8, case when $9 then now() end, change.version from change`),
    [id, clientId, name, prefix, hashKeyHash(sha256, pepper), pepperId(pepper), models, expiresAt, isRevoked],
  )
  return id
}
