import { createKey, hashKey, keyPrefix, pepperId } from '../domain/api-key.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { changing, lockKeyVersion } from './key-version.ts'
import { COLUMNS, type KeyRow, type NewKey, newKeyId, storedKeyFrom } from './keys.ts'

export type Rotation =
  | { readonly kind: 'rotated'; readonly key: NewKey }
  | { readonly kind: 'unknown' }
  /** Revoked or expired: it cannot be rotated. */
  | { readonly kind: 'inactive' }

/**
 * Replaces a key by a new one with the same client, label, models and lifetime, within a transaction. The old one stays
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
  const { rows } = await session.query<KeyRow>(
    changing(`, ending as (
        update ${SCHEMA}.keys set version = change.version,
          expires_at = least(expires_at, now() + make_interval(secs => $2))
        from change where id = $1
      ), k as (
        insert into ${SCHEMA}.keys
          (id, client_id, name, prefix, digest, pepper_id, models, expires_at, version)
        select $3, old.client_id, old.name, $4, $5, $6, old.models,
          now() + (old.expires_at - old.created_at), change.version
        from ${SCHEMA}.keys old, change where old.id = $1
        returning *
      )
      select ${COLUMNS} from k join ${SCHEMA}.clients c on c.id = k.client_id`),
    [id, overlapSeconds, newKeyId(), keyPrefix(key), hashKey(key, pepper), pepperId(pepper)],
  )
  return rows[0] === undefined
    ? { kind: 'unknown' }
    : { kind: 'rotated', key: { ...storedKeyFrom(rows[0]), key } }
}

/** Locks the key: two concurrent rotations run one after the other. */
async function lockKey(session: PostgresSession, id: string): Promise<{ readonly active: boolean } | null> {
  const { rows } = await session.query<{ active: boolean }>(
    `select revoked_at is null and coalesce(expires_at > now(), true) as active
     from ${SCHEMA}.keys where id = $1 for update`,
    [id],
  )
  return rows[0] ?? null
}
