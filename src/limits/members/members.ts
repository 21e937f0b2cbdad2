import { presentGroupOf } from '../../keys/groups/groups.ts'
import type { AskingClient, AskingMember } from '../../operations/ports.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { PeriodDays } from '../limit.ts'
import { selectSpent } from '../spent/select-spent.ts'

/** A key that a member made, and that is in force. */
export interface MemberKey {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly models: readonly string[] | null
  readonly expiresAt: Date
  readonly lastUsedAt: Date | null
  /** `false`: it was rotated, and goes on for its overlap. */
  readonly isLasting: boolean
}

/** The keys that a member made and that are in force, the oldest first. */
export async function selectMemberKeys(
  pool: Pick<Postgres, 'query'>,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, readonly MemberKey[]>> {
  const { rows } = await pool.query<MemberKey & { readonly clientId: string }>(
    `select client_id as "clientId", id, name, prefix, models, expires_at as "expiresAt",
       last_used_at as "lastUsedAt", of_member = 'lasting' as "isLasting"
     from ${SCHEMA}.keys
     where client_id = any($1) and of_member is not null and revoked_at is null and expires_at > now()
     order by created_at, id`,
    [clientIds],
  )
  return Map.groupBy(rows, ({ clientId }) => clientId)
}

/** How many keys a member made within the last 24 hours, whether they are in force or not. */
export async function countKeysOfToday(pool: Pick<Postgres, 'query'>, clientId: string): Promise<number> {
  const { rows } = await pool.query<{ keys: number }>(
    `select count(*)::int as keys from ${SCHEMA}.keys
     where client_id = $1 and of_member is not null and created_at > now() - interval '1 day'`,
    [clientId],
  )
  return rows[0]?.keys ?? 0
}

/** The ids of the clients of members. */
export async function selectMemberIds(pool: Pick<Postgres, 'query'>): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ id: string }>(`select id from ${SCHEMA}.members`)
  return new Set(rows.map(({ id }) => id))
}

/**
 * Whether a member is still what its token said when it was looked up, within a transaction that holds the lock of
 * `lockKeyVersion`: then it stays so until the transaction ends.
 */
export async function isStillMember(
  pool: Postgres,
  { id, name }: AskingClient,
  { group, isOwner }: AskingMember,
): Promise<boolean> {
  const { rows } = await pool.query(
    `select from ${SCHEMA}.members m join ${SCHEMA}.clients c on c.id = m.id
     where m.id = $1 and c.name = $2 and not c.disabled and ${presentGroupOf('m.id')} = $3
       and (m.owner_of is not distinct from $3) = $4`,
    [id, name, group.id, isOwner],
  )
  return rows.length > 0
}

/** A member of a group, as its owners see it. */
export interface Member {
  readonly id: string
  readonly name: string
  readonly isOwner: boolean
  readonly isDisabled: boolean
  readonly signedInAt: Date
  readonly keysEndAt: Date
  /** Of a month; `null`: none. */
  readonly budgetPico: bigint | null
}

/** Which members; what is left out may be any. */
interface MemberFilter {
  readonly id?: string
  /** Only those behind this one. */
  readonly cursor?: string | null
  readonly rows: number
}

/** Members that are in a group themselves now, by name. */
export async function selectGroupMembers(
  pool: Pick<Postgres, 'query'>,
  groupId: string,
  { id, cursor, rows: wanted }: MemberFilter,
): Promise<readonly Member[]> {
  const { rows } = await pool.query<Omit<Member, 'budgetPico'> & { readonly budget: string | null }>(
    `with members as (
       select m.id, c.name, m.owner_of is not distinct from $1 as "isOwner", c.disabled as "isDisabled",
         m.signed_in_at as "signedInAt", m.keys_end_at as "keysEndAt",
         (select amount::text from ${SCHEMA}.limits l where l.client_id = m.id and l.key_id is null
            and l.model is null and l.axis is null and l.kind = 'budget' and l.per = 'month' and not l.soft
            and l.removed_at is null) as budget
       from ${SCHEMA}.members m join ${SCHEMA}.clients c on c.id = m.id
       where ${presentGroupOf('m.id')} = $1)
     select * from members where ($2::text is null or id = $2)
       and ($3::text is null or (name, id) > (select name, id from members where id = $3))
     order by name, id limit $4`,
    [groupId, id ?? null, cursor ?? null, wanted],
  )
  return rows.map(({ budget, ...member }) => ({
    ...member,
    budgetPico: budget === null ? null : BigInt(budget),
  }))
}

/** What each of these clients spent in these days, in their order. */
export async function selectSpentOf(
  pool: Postgres,
  clientIds: readonly string[],
  period: PeriodDays,
): Promise<readonly bigint[]> {
  if (clientIds.length === 0) return []
  const accounts = clientIds.map((clientId) => ({ clientId, keyId: null, model: null, ...period }))
  return (await selectSpent(pool, accounts, [])).spentPico
}

/** The least that a group itself may spend a month, by the operator's hard budget of all its calls; `null`: it has none. */
export async function findGroupBudget(
  pool: Pick<Postgres, 'query'>,
  groupId: string,
): Promise<bigint | null> {
  const { rows } = await pool.query<{ amount: string }>(
    `select amount::text from ${SCHEMA}.limits where group_id = $1 and axis is null and subject_model is null
       and kind = 'budget' and per = 'month' and not soft and removed_at is null`,
    [groupId],
  )
  return rows[0] === undefined ? null : BigInt(rows[0].amount)
}
