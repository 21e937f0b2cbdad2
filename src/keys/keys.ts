import { createKey, hashKey, keyPrefix, pepperId } from '../domain/api-key.ts'
import { randomBase62 } from '../domain/base62.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { changing, lockKeyVersion } from './key-version.ts'
import { type ListedPage, listedPage, type PageOrder, rowsOf, WHOLE_LIST } from './listed-page.ts'

/** A key as it is listed, without its secret. */
export interface StoredKey {
  readonly id: string
  /** The client's name. */
  readonly client: string
  /** The key's label. */
  readonly name: string
  readonly prefix: string
  /** Names or `prefix*` patterns; `null`: every model. */
  readonly models: readonly string[] | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  /** To the minute. */
  readonly lastUsedAt: Date | null
}

/** A new key with its secret, which is known only at this moment. */
export interface NewKey extends StoredKey {
  readonly key: string
}

export interface KeyOrder {
  /** The client's name. */
  readonly client: string
  readonly name: string
  readonly models: readonly string[] | null
  /** From now, by the database's clock; `null`: never expires. */
  readonly expiresInSeconds: number | null
  /** A member makes it: it ends with what the member's last sign-in gave, and lasts as long as others follow. */
  readonly isOfMember?: boolean
}

export interface KeyRow {
  readonly id: string
  readonly client: string
  readonly name: string
  readonly prefix: string
  readonly models: string[] | null
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  readonly last_used_at: Date | null
}

export const COLUMNS = `k.id, c.name as client, k.name, k.prefix, k.models, k.created_at, k.expires_at, k.revoked_at,
  k.last_used_at`

/** Creates a key, hashed with `pepper`; `null`: unknown client. */
export async function createClientKey(
  pool: Postgres,
  order: KeyOrder,
  pepper: string,
): Promise<NewKey | null> {
  const key = createKey()
  const { rows } = await pool.query<KeyRow>(
    changing(`, k as (
        insert into ${SCHEMA}.keys
          (id, client_id, name, prefix, digest, pepper_id, models, expires_at, version, of_member)
        select $1, c.id, $3, $4, $5, $6, $7,
          case when $9 then (select keys_end_at from ${SCHEMA}.members m where m.id = c.id)
            else now() + make_interval(secs => $8) end, change.version, case when $9 then 'lasting' end
        from ${SCHEMA}.clients c, change where c.name = $2
        returning *
      )
      select ${COLUMNS} from k join ${SCHEMA}.clients c on c.id = k.client_id`),
    [
      newKeyId(),
      order.client,
      order.name,
      keyPrefix(key),
      hashKey(key, pepper),
      pepperId(pepper),
      order.models,
      order.expiresInSeconds,
      order.isOfMember === true,
    ],
  )
  return rows[0] === undefined ? null : { ...storedKeyFrom(rows[0]), key }
}

const ACTIVE = 'where revoked_at is null and coalesce(expires_at > now(), true)'
/** Whose identity is proven elsewhere: no secret of ours goes with such a key. */
export const HAS_TEXT = `digest_of <> 'identity'`
const LISTED = `${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id`
/** By client, then oldest first. */
const PLACE = 'c.name, k.created_at, k.id'

/**
 * The keys of one client by its name, or of all, by client, then oldest first; `null`: there is none with the id
 * of the cursor.
 */
export async function selectKeyPage(
  pool: Postgres,
  client: string | null,
  order: PageOrder = WHOLE_LIST,
): Promise<ListedPage<StoredKey> | null> {
  const { cursor } = order
  // Clients of the cursor's place and behind it are found by their names; the row says which of their keys.
  // A key of another client has no place in this one's list.
  const place = `from ${LISTED} where k.id = $3 and ($2::text is null or c.name = $2)`
  const behind = `c.name >= (select c.name ${place}) and (${PLACE}) > (select ${PLACE} ${place})`
  const { rows } = await pool.query<KeyRow>(
    `select ${COLUMNS} from ${LISTED}
     where ($2::text is null or c.name = $2) ${cursor === null ? '' : `and ${behind}`}
     order by ${PLACE} limit $1`,
    [rowsOf(order), client, ...(cursor === null ? [] : [cursor])],
  )
  if (cursor !== null && rows.length === 0 && !(await hasKey(pool, cursor, client))) return null
  return listedPage(rows.map(storedKeyFrom), order)
}

async function hasKey(pool: Postgres, id: string, client: string | null): Promise<boolean> {
  const { rows } = await pool.query(
    `select from ${LISTED} where k.id = $1 and ($2::text is null or c.name = $2)`,
    [id, client],
  )
  return rows.length > 0
}

/** Revokes a key; revoking it again keeps the first time. `null`: unknown key. */
export async function revokeKey(pool: Postgres, id: string): Promise<StoredKey | null> {
  const { rows } = await pool.query<KeyRow>(
    changing(`, k as (
        update ${SCHEMA}.keys set revoked_at = coalesce(revoked_at, now()), version = change.version
        from change where id = $1 returning keys.*
      )
      select ${COLUMNS} from k join ${SCHEMA}.clients c on c.id = k.client_id`),
    [id],
  )
  return rows[0] === undefined ? null : storedKeyFrom(rows[0])
}

export function newKeyId(): string {
  return `key_${randomBase62(20)}`
}

export function storedKeyFrom(row: KeyRow): StoredKey {
  return {
    id: row.id,
    client: row.client,
    name: row.name,
    prefix: row.prefix,
    models: row.models,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  }
}

export interface PepperUse {
  /** Keys, and tokens of operators, that are hashed with it. */
  readonly keys: number
  /** Keys whose signing secrets are made with it. */
  readonly secrets: number
}

/**
 * Counts the uses of each pepper, by `pepperId`.
 * @throws When Postgres is unreachable.
 */
export async function countKeysByPepper(pool: Postgres): Promise<ReadonlyMap<string, PepperUse>> {
  const { rows } = await pool.query<{ id: string; keys: number; secrets: number }>(
    `with active as (select pepper_id, sigv4_pepper_id from ${SCHEMA}.keys ${ACTIVE} and ${HAS_TEXT})
     select id, sum(keys)::int as keys, sum(secrets)::int as secrets
     from (select pepper_id as id, 1 as keys, 0 as secrets from active
       union all select pepper_id, 1, 0 from ${SCHEMA}.operator_tokens ${ACTIVE}
       union all select sigv4_pepper_id, 0, 1 from active where sigv4_pepper_id is not null) uses
     group by id`,
  )
  return new Map(rows.map(({ id, keys, secrets }) => [id, { keys, secrets }]))
}

export type Rotation =
  | { readonly kind: 'rotated'; readonly key: NewKey; readonly formerEndsAt: Date }
  | { readonly kind: 'unknown' }
  /** Revoked, expired, or without a text: it cannot be rotated. */
  | { readonly kind: 'inactive' }

/**
 * Replaces a key by a new one with the same client, label, models and lifetime (that of a member: the same end), within a
 * transaction. The old one stays
 * valid for `overlapSeconds`, or until it expires. `rotateLimitedKey` takes its limits along.
 */
export async function rotateKey(
  session: PostgresSession,
  id: string,
  overlapSeconds: number,
  pepper: string,
): Promise<Rotation> {
  await lockKeyVersion(session) // before any key, as every other change does: two orders would deadlock
  const old = await lockKey(session, id)
  if (old === null) return { kind: 'unknown' }
  if (!old.active) return { kind: 'inactive' }
  const key = createKey()
  const { rows } = await session.query<KeyRow & { former_ends_at: Date }>(
    changing(`, ending as (
        update ${SCHEMA}.keys set version = change.version,
          expires_at = least(expires_at, now() + make_interval(secs => $2)),
          of_member = case when of_member is not null then 'replaced' end
        from change where id = $1
        returning expires_at as former_ends_at
      ), k as (
        insert into ${SCHEMA}.keys
          (id, client_id, name, prefix, digest, pepper_id, models, expires_at, version, of_member)
        select $3, old.client_id, old.name, $4, $5, $6, old.models,
          case when old.of_member is null then now() + (old.expires_at - old.created_at) else old.expires_at end,
          change.version, old.of_member
        from ${SCHEMA}.keys old, change where old.id = $1
        returning *
      )
      select ${COLUMNS}, former_ends_at from ending, k join ${SCHEMA}.clients c on c.id = k.client_id`),
    [id, overlapSeconds, newKeyId(), keyPrefix(key), hashKey(key, pepper), pepperId(pepper)],
  )
  const [row] = rows
  if (row === undefined) return { kind: 'unknown' }
  return { kind: 'rotated', key: { ...storedKeyFrom(row), key }, formerEndsAt: row.former_ends_at }
}

/** Locks the key: two concurrent rotations run one after the other. */
async function lockKey(session: PostgresSession, id: string): Promise<{ readonly active: boolean } | null> {
  const { rows } = await session.query<{ active: boolean }>(
    `select revoked_at is null and coalesce(expires_at > now(), true) and ${HAS_TEXT} as active
     from ${SCHEMA}.keys where id = $1 for update`,
    [id],
  )
  return rows[0] ?? null
}
