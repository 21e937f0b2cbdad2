import { createToken, hashKey, pepperId, tokenPrefix } from '../../domain/api-key.ts'
import { randomBase62 } from '../../domain/base62.ts'
import type { AskingClient, AskingMember } from '../../operations/ports.ts'
import { inTransaction, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { presentGroupOf } from '../groups/groups.ts'

/** A token that shows a client its own figures, without its text. */
export interface PortalToken {
  readonly id: string
  /** The client's name. */
  readonly client: string
  /** The key that it was exchanged for; `null`: an operator made it, or a member signed in. */
  readonly keyId: string | null
  readonly isOfMember: boolean
  readonly prefix: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly revokedAt: Date | null
}

/** A new one with its text, which is known only at this moment. */
export interface NewPortalToken extends PortalToken {
  readonly token: string
}

const COLUMNS = `t.id, c.name as client, t.key_id as "keyId", t.is_member as "isOfMember", t.prefix, t.created_at as "createdAt",
  t.expires_at as "expiresAt", t.revoked_at as "revokedAt"`

/** Sign-ins that a key keeps, and a member. A further one ends the oldest. */
const MOST_SIGN_INS = 50

export interface PortalTokenOrder {
  readonly clientId: string
  /** `null`: an operator makes it, or a member signs in. */
  readonly keyId: string | null
  readonly expiresInSeconds: number
  /** A member signs in: the token can change what the member's group allows. */
  readonly isOfMember?: boolean
}

/** @returns `null`: there is no such client. */
export async function createPortalToken(
  pool: Postgres,
  { clientId, keyId, expiresInSeconds, isOfMember = false }: PortalTokenOrder,
  pepper: string,
): Promise<NewPortalToken | null> {
  const token = createToken(isOfMember ? 'member' : 'portal')
  return await inTransaction(pool, async (session) => {
    await session.query(
      `delete from ${SCHEMA}.portal_tokens where client_id = $1 and (expires_at < now() - interval '1 day'
         or ($2::text is not null or $3) and id in (
           select id from ${SCHEMA}.portal_tokens where client_id = $1 and key_id is not distinct from $2
             and is_member = $3 order by created_at desc offset ${MOST_SIGN_INS - 1}))`,
      [clientId, keyId, isOfMember],
    )
    const { rows } = await session.query<PortalToken>(
      `with t as (
         insert into ${SCHEMA}.portal_tokens
           (id, client_id, key_id, prefix, digest, pepper_id, expires_at, is_member)
         select $1, c.id, $3, $4, $5, $6, now() + make_interval(secs => $7), $8
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
        isOfMember,
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

/** Ends the token of a member who signs out, by its digests. Returns whether it was one. */
export async function endMemberToken(pool: Postgres, digests: readonly Buffer[]): Promise<boolean> {
  const { rows } = await pool.query(
    `update ${SCHEMA}.portal_tokens set revoked_at = now()
     where digest = any($1) and is_member and revoked_at is null returning id`,
    [digests],
  )
  return rows.length > 0
}

/** A client whose token is in force. */
export interface SignedIn extends Omit<AskingClient, 'member'> {
  readonly tokenId: string
  /** `null`: the token can only read. */
  readonly member: Omit<AskingMember, 'policy'> | null
}

interface HolderRow {
  readonly token_id: string
  readonly id: string
  readonly name: string
  readonly key_id: string | null
  readonly key_name: string | null
  readonly models: string[] | null
  readonly expires_at: Date
  readonly group_id: string | null
  readonly group_name: string | null
  readonly is_owner: boolean | null
  readonly keys_end_at: Date | null
}

/** Whose token has one of these digests; `null`: it has ended, or its key has, or its client is disabled. */
export async function findSignedIn(pool: Postgres, digests: readonly Buffer[]): Promise<SignedIn | null> {
  const { rows } = await pool.query<HolderRow>(
    `select t.id as token_id, c.id, c.name, k.id as key_id, k.name as key_name, k.models, t.expires_at,
       g.id as group_id, g.name as group_name, m.owner_of = g.id as is_owner, m.keys_end_at
     from ${SCHEMA}.portal_tokens t join ${SCHEMA}.clients c on c.id = t.client_id
     left join ${SCHEMA}.keys k on k.id = t.key_id
     left join ${SCHEMA}.members m on t.is_member and m.id = c.id
     left join ${SCHEMA}.groups g on m.id is not null and g.removed_at is null and g.id = ${presentGroupOf('c.id')}
     where t.digest = any($1) and t.revoked_at is null and t.expires_at > now() and not c.disabled
       and (t.key_id is null or k.revoked_at is null and coalesce(k.expires_at > now(), true))`,
    [digests],
  )
  const [row] = rows
  if (row === undefined) return null
  const { id, name, key_id: keyId, key_name: keyName, models, expires_at: tokenEndsAt } = row
  const key = keyId === null ? null : { id: keyId, name: keyName ?? '' }
  return { tokenId: row.token_id, id, name, key, models, tokenEndsAt, member: memberOf(row) }
}

function memberOf({ group_id: id, group_name: name, is_owner: isOwner, keys_end_at: keysEndAt }: HolderRow) {
  if (id === null || name === null || keysEndAt === null) return null
  return { group: { id, name }, isOwner: isOwner === true, keysEndAt }
}
