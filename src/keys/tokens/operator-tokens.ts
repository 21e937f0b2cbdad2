import { createToken, hashKey, pepperId, tokenPrefix } from '../../domain/api-key.ts'
import { randomBase62 } from '../../domain/base62.ts'
import { beginAudit, endAudit, recordChanges } from '../../operations/audit/audit-table.ts'
import type { OperatorRole } from '../../operations/operation.ts'
import { inTransaction, type Postgres, sqlStateOf } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type ListedPage, listedPage, type PageOrder, rowsOf } from '../listed-page.ts'

/** A token of an operator as it is listed, without its text. */
export interface OperatorToken {
  readonly id: string
  readonly name: string
  readonly role: OperatorRole
  readonly prefix: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly revokedAt: Date | null
}

/** A new token with its text, which is known only at this moment. */
export interface NewOperatorToken extends OperatorToken {
  readonly token: string
}

/** Who holds a token of an operator. */
export interface TokenHolder {
  readonly name: string
  readonly role: OperatorRole
}

/** Who a sign-in of operators named, and one of members: no token that operators make begins so. */
export const PERSON = 'person:'
export const MEMBER = 'member:'

const COLUMNS = `id, name, role, prefix, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt"`
const UNIQUE_VIOLATION = '23505'

/** Makes a token. `null`: another one in force has the name. One that has ended gives its name to the new one. */
export async function createOperatorToken(
  pool: Postgres,
  order: { readonly name: string; readonly role: OperatorRole; readonly expiresInSeconds: number },
  pepper: string,
): Promise<NewOperatorToken | null> {
  const token = createToken('operator')
  try {
    await pool.query(
      `update ${SCHEMA}.operator_tokens set revoked_at = expires_at
       where name = $1 and revoked_at is null and expires_at <= now()`,
      [order.name],
    )
    const { rows } = await pool.query<OperatorToken>(
      `insert into ${SCHEMA}.operator_tokens (id, name, role, prefix, digest, pepper_id, expires_at)
       values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7)) returning ${COLUMNS}`,
      [
        `tok_${randomBase62(20)}`,
        order.name,
        order.role,
        tokenPrefix(token),
        hashKey(token, pepper),
        pepperId(pepper),
        order.expiresInSeconds,
      ],
    )
    return rows[0] === undefined ? null : { ...rows[0], token }
  } catch (error) {
    if (sqlStateOf(error) === UNIQUE_VIOLATION) return null
    throw error
  }
}

/**
 * Makes a token for a person who signed in, with a row of the audit by the same name. Of each person as many as there are
 * browsers; those that ended a day ago are gone.
 *
 * @param order `name`: with `PERSON` before it.
 */
export async function createPersonToken(
  pool: Postgres,
  order: {
    readonly name: string
    readonly from: string
    readonly role: OperatorRole
    readonly expiresInSeconds: number
  },
  pepper: string,
): Promise<NewOperatorToken | null> {
  const { name, from, role, expiresInSeconds } = order
  const token = createToken('operator')
  return await inTransaction(pool, async (session) => {
    await session.query(
      `delete from ${SCHEMA}.operator_tokens where is_person and expires_at < now() - interval '1 day'`,
    )
    const auditId = await beginAudit(session, { name, from, who: `${name} from ${from}` }, 'sign_in')
    await recordChanges(session, auditId)
    const { rows } = await session.query<OperatorToken>(
      `insert into ${SCHEMA}.operator_tokens (id, name, role, prefix, digest, pepper_id, expires_at, is_person)
       values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7), true) returning ${COLUMNS}`,
      [
        `tok_${randomBase62(20)}`,
        name,
        role,
        tokenPrefix(token),
        hashKey(token, pepper),
        pepperId(pepper),
        expiresInSeconds,
      ],
    )
    const [row] = rows
    await endAudit(session, auditId, { token: row?.id ?? null, role })
    return row === undefined ? null : { ...row, token }
  })
}

/** Ends the token of a person who signs out, by its digests. Returns whether it was one. */
export async function endPersonToken(pool: Postgres, digests: readonly Buffer[]): Promise<boolean> {
  const { rows } = await pool.query(
    `update ${SCHEMA}.operator_tokens set revoked_at = now()
     where digest = any($1) and is_person and revoked_at is null returning id`,
    [digests],
  )
  return rows.length > 0
}

/** Those that are in force, and those that have ended, by name. `null`: there is none with the id of the cursor. */
export async function selectOperatorTokens(
  pool: Postgres,
  order: PageOrder,
): Promise<ListedPage<OperatorToken> | null> {
  const { cursor } = order
  const { rows } = await pool.query<OperatorToken>(
    `select ${COLUMNS} from ${SCHEMA}.operator_tokens
     where $2::text is null or (name, id) > (select name, id from ${SCHEMA}.operator_tokens where id = $2)
     order by operator_tokens.name, id limit $1`,
    [rowsOf(order), cursor],
  )
  if (cursor !== null && rows.length === 0 && !(await isThere(pool, cursor))) return null
  return listedPage(rows, order)
}

async function isThere(pool: Postgres, id: string): Promise<boolean> {
  return (await pool.query(`select from ${SCHEMA}.operator_tokens where id = $1`, [id])).rows.length > 0
}

/**
 * Ends a token, by its id or its name; revoking it again keeps the first time. By the name of a person it ends all of that
 * person's. `null`: there is none.
 */
export async function revokeOperatorToken(pool: Postgres, idOrName: string): Promise<OperatorToken | null> {
  const { rows } = await pool.query<OperatorToken>(
    `update ${SCHEMA}.operator_tokens set revoked_at = coalesce(revoked_at, now())
     where id = (select id from ${SCHEMA}.operator_tokens where id = $1 or name = $1
                 order by revoked_at is not null, created_at desc limit 1)
       or is_person and name = $1
     returning ${COLUMNS}`,
    [idOrName],
  )
  return rows[0] ?? null
}

/** Who holds the token with one of these digests; `null`: none that is in force has it. */
export async function findTokenHolder(
  pool: Postgres,
  digests: readonly Buffer[],
): Promise<TokenHolder | null> {
  const { rows } = await pool.query<TokenHolder>(
    `select name, role from ${SCHEMA}.operator_tokens
     where digest = any($1) and revoked_at is null and expires_at > now()`,
    [digests],
  )
  return rows[0] ?? null
}
