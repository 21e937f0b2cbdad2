import { randomBytes } from 'node:crypto'
import { pepperId, signingSecret } from '../domain/api-key.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { changing } from './key-version.ts'
import { HAS_TEXT } from './keys.ts'

const SALT_BYTES = 32

/** An access key of the gateway's own, for AWS's libraries. It is known only at this moment. */
export interface NewSigningSecret {
  /** The id of the key, which is public. */
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** The client's name. */
  readonly client: string
}

/**
 * Makes a secret for an active key, in place of the one that it had. Only its salt is stored.
 *
 * @returns `unknown`: there is no such key. `inactive`: it is revoked or expired, or has no text.
 */
export async function makeSigningSecret(
  pool: Postgres,
  keyId: string,
  pepper: string,
): Promise<NewSigningSecret | 'unknown' | 'inactive'> {
  const salt = randomBytes(SALT_BYTES)
  const { rows } = await pool.query<{ client: string; is_active: boolean }>(
    changing(`, k as (
        update ${SCHEMA}.keys set sigv4_salt = $2, sigv4_pepper_id = $3, version = change.version
        from change where id = $1 and revoked_at is null and coalesce(expires_at > now(), true) and ${HAS_TEXT}
        returning keys.id
      )
      select c.name as client, exists (select from k) as is_active
      from ${SCHEMA}.keys known join ${SCHEMA}.clients c on c.id = known.client_id where known.id = $1`),
    [keyId, salt, pepperId(pepper)],
  )
  const [row] = rows
  if (row === undefined) return 'unknown'
  if (!row.is_active) return 'inactive'
  return { accessKeyId: keyId, secretAccessKey: signingSecret(keyId, salt, pepper), client: row.client }
}
