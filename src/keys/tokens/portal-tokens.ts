import { createToken, hashKey, pepperId, tokenPrefix } from '../../domain/api-key.ts'
import { randomBase62 } from '../../domain/base62.ts'
import type { AskingClient } from '../../operations/ports.ts'
import { inTransaction, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** A token that shows a client its own figures, without its text. */
export interface PortalToken {
  readonly id: string
  /** The client's name. */
  readonly client: string
  /** The key that it was exchanged for; `null`: an operator made it. */
  readonly keyId: string | null
  readonly prefix: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly revokedAt: Date | null
}

/** A new one with its text, which is known only at this moment. */
export interface NewPortalToken extends PortalToken {
  readonly token: string
}

const COLUMNS = `t.id, c.name as client, t.key_id as "keyId", t.prefix, t.created_at as "createdAt",
  t.expires_at as "expiresAt", t.revoked_at as "revokedAt"`

/** Sign-ins that a key keeps. A further one ends the oldest. */
const MOST_OF_A_KEY = 50

/** @param keyId `null`: an operator makes it. @returns `null`: there is no such client. */
export async function createPortalToken(
  pool: Postgres,
  order: { readonly clientId: string; readonly keyId: string | null; readonly expiresInSeconds: number },
  pepper: string,
): Promise<NewPortalToken | null> {
  const { clientId, keyId, expiresInSeconds } = order
  const token = createToken('portal')
  return await inTransaction(pool, async (session) => {
    await session.query(
      `delete from ${SCHEMA}.portal_tokens where client_id = $1 and (expires_at < now() - interval '1 day'
         or key_id = $2 and id in (select id from ${SCHEMA}.portal_tokens where client_id = $1 and key_id = $2
           order by created_at desc offset ${MOST_OF_A_KEY - 1}))`,
      [clientId, keyId],
    )
    const { rows } = await session.query<PortalToken>(
      `with t as (
         insert into ${SCHEMA}.portal_tokens (id, client_id, key_id, prefix, digest, pepper_id, expires_at)
         select $1, c.id, $3, $4, $5, $6, now() + make_interval(secs => $7)
         from ${SCHEMA}.clients c where c.id = $2 returning *)
       select ${COLUMNS} from t join ${SCHEMA}.clients c on c.id = t.client_id`,
      [
        `ptk_${randomBase62(20)}`,
        clientId,
        keyId,
        tokenPrefix(token),
        hashKey(token, pepper),
        pepperId(pepper),
        expiresInSeconds,
      ],
    )
    return rows[0] === undefined ? null : { ...rows[0], token }
  })
}

/** Those of a client, the newest first, as far as they have not ended a day ago. */
export async function selectPortalTokens(pool: Postgres, clientId: string): Promise<readonly PortalToken[]> {
  const { rows } = await pool.query<PortalToken>(
    `select ${COLUMNS} from ${SCHEMA}.portal_tokens t join ${SCHEMA}.clients c on c.id = t.client_id
     where t.client_id = $1 order by t.created_at desc, t.id limit 1000`,
    [clientId],
  )
  return rows
}

/** Ends one; revoking it again keeps the first time. `null`: there is none. */
export async function revokePortalToken(pool: Postgres, id: string): Promise<PortalToken | null> {
  const { rows } = await pool.query<PortalToken>(
    `with t as (update ${SCHEMA}.portal_tokens set revoked_at = coalesce(revoked_at, now()) where id = $1 returning *)
     select ${COLUMNS} from t join ${SCHEMA}.clients c on c.id = t.client_id`,
    [id],
  )
  return rows[0] ?? null
}

/** A client that asks, and the id of its token. */
export interface SignedIn extends AskingClient {
  readonly tokenId: string
}

interface HolderRow {
  readonly token_id: string
  readonly id: string
  readonly name: string
  readonly key_id: string | null
  readonly key_name: string | null
  readonly models: string[] | null
  readonly expires_at: Date
}

/** Whose token has one of these digests; `null`: it has ended, or its key has, or its client is disabled. */
export async function findSignedIn(pool: Postgres, digests: readonly Buffer[]): Promise<SignedIn | null> {
  const { rows } = await pool.query<HolderRow>(
    `select t.id as token_id, c.id, c.name, k.id as key_id, k.name as key_name, k.models, t.expires_at
     from ${SCHEMA}.portal_tokens t join ${SCHEMA}.clients c on c.id = t.client_id
     left join ${SCHEMA}.keys k on k.id = t.key_id
     where t.digest = any($1) and t.revoked_at is null and t.expires_at > now() and not c.disabled
       and (t.key_id is null or k.revoked_at is null and coalesce(k.expires_at > now(), true))`,
    [digests],
  )
  const [row] = rows
  if (row === undefined) return null
  const { id, name, key_id: keyId, key_name: keyName, models, expires_at: tokenEndsAt } = row
  const key = keyId === null ? null : { id: keyId, name: keyName ?? '' }
  return { tokenId: row.token_id, id, name, key, models, tokenEndsAt }
}
