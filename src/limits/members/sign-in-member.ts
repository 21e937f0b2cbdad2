import { createHash } from 'node:crypto'
import { toBase62 } from '../../domain/base62.ts'
import { isWithinModels, type MemberPolicy } from '../../domain/member-policy.ts'
import { isName } from '../../domain/names.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { createClientIn } from '../../keys/clients.ts'
import { moveInto } from '../../keys/groups/group-moves.ts'
import { findGroup } from '../../keys/groups/groups.ts'
import { changing, lockKeyVersion } from '../../keys/key-version.ts'
import { MEMBER } from '../../keys/tokens/operator-tokens.ts'
import { createPortalToken, type NewPortalToken } from '../../keys/tokens/portal-tokens.ts'
import { beginAudit, endAudit, recordChanges } from '../../operations/audit/audit-table.ts'
import { inTransactionOr, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { poolWithin } from '../../store/connection/within-transaction.ts'
import { findLimit, type LimitOrder, setLimits } from '../table/change-limits.ts'
import { takeLimitVersion } from '../table/limit-rows.ts'

/** A person of the company, and what their groups make them. */
export interface ArrivingMember {
  readonly issuer: string
  readonly subject: string
  /** What the person is called, and perhaps another one, too. */
  readonly name: string
  readonly policy: MemberPolicy
  readonly isOwner: boolean
  /** The address of the browser. */
  readonly from: string
}

export interface MemberTerms {
  /** Keys that the member made end so many days after a sign-in. */
  readonly memberDays: number
  /** Clients of members, in all. */
  readonly mostMembers: number
  readonly sessionSeconds: number
}

/** `group`: there is none of the policy. `full`: no further member may be made. `disabled`: the member's client is. */
export type Arrival = { readonly made: NewPortalToken } | { readonly refused: 'group' | 'full' | 'disabled' }

/** A member as audits and lists have it. */
export function nameOfMember(name: string): string {
  return name.startsWith(MEMBER) ? name : `${MEMBER}${name}`
}

/**
 * Signs a member in. Its client is made at the first time, and is in the group that the policy names from today on. Keys
 * that it made last on, those that the policy does not allow any more are revoked, and a budget above it is lowered. The
 * audit has all of it.
 *
 * @throws When Postgres is unreachable.
 */
export async function signInMember(
  pool: Postgres,
  member: ArrivingMember,
  terms: MemberTerms,
  pepper: string,
  today: UtcDay,
): Promise<Arrival> {
  const { policy, from } = member
  return await inTransactionOr<Arrival>(pool, async (session) => {
    const refuse = (refused: 'group' | 'full' | 'disabled') => ({ isKept: false, result: { refused } })
    // Before any key, as in all changes of both.
    if (policy.memberBudgetPico !== null) await takeLimitVersion(session)
    await lockKeyVersion(session)
    const within = poolWithin(session)
    const group = await findGroup(within, policy.group)
    if (group === null) return refuse('group')
    const digits = digitsOf(member)
    const origin = `${MEMBER}${digits}`
    const known = await findMemberClient(session, origin)
    if (known?.disabled === true) return refuse('disabled')
    if (known === null && (await countMembers(session)) >= terms.mostMembers) return refuse('full')
    const name = known?.name ?? (await freeName(session, member.name, digits))
    const who = nameOfMember(name)
    const auditId = await beginAudit(
      session,
      { name: who, from, who: `${who} from ${from}` },
      'member.sign_in',
    )
    await recordChanges(session, auditId)
    const clientId = known?.id ?? (await createClientIn(session, name, origin))?.id ?? ''
    await moveInto(within, clientId, group.id, today)
    await session.query(
      `insert into ${SCHEMA}.members as m (id, owner_of, signed_in_at, keys_end_at)
       values ($1, $2, now(), now() + make_interval(days => $3))
       on conflict (id) do update set owner_of = excluded.owner_of, signed_in_at = excluded.signed_in_at,
         keys_end_at = excluded.keys_end_at`,
      [clientId, member.isOwner ? group.id : null, terms.memberDays],
    )
    await keepAllowedKeys(session, clientId, policy)
    await boundBudget(session, clientId, policy, who)
    const { sessionSeconds: expiresInSeconds } = terms
    const order = { clientId, keyId: null, expiresInSeconds, isOfMember: true }
    const made = await createPortalToken(within, order, pepper)
    if (made === null) throw new Error('the client of a member is gone within a transaction that holds it')
    await endAudit(session, auditId, { client: clientId, group: group.id, token: made.id })
    return { isKept: true, result: { made } }
  })
}

/**
 * Names one person of one provider for ever: an address may be given to another person. The issuer is compared as it is
 * with the provider's own name: a slash behind the host says nothing.
 */
function digitsOf({ issuer, subject }: ArrivingMember): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([new URL(issuer).href, subject]))
    .digest()
  return [0, 5, 10, 15].map((at) => toBase62(digest.readUIntBE(at, 5) % 62 ** 5, 5)).join('')
}

interface MemberClient {
  readonly id: string
  readonly name: string
  readonly disabled: boolean
}

async function findMemberClient(session: PostgresSession, origin: string): Promise<MemberClient | null> {
  const { rows } = await session.query<MemberClient>(
    `select id, name, disabled from ${SCHEMA}.clients where origin = $1`,
    [origin],
  )
  return rows[0] ?? null
}

async function countMembers(session: PostgresSession): Promise<number> {
  const { rows } = await session.query<{ members: number }>(
    `select count(*)::int as members from ${SCHEMA}.members`,
  )
  return rows[0]?.members ?? 0
}

/** A name that begins so is that of no team: what calls say of their client must not lead to a member. */
async function freeName(session: PostgresSession, person: string, digits: string): Promise<string> {
  const name = nameOfMember(person)
  const { rows } = await session.query(`select from ${SCHEMA}.clients where name = $1`, [name])
  return isName(name) && rows.length === 0 ? name : `${MEMBER}${digits}`
}

/** Moves the end of keys that last, and revokes those of models that the group does not allow. */
async function keepAllowedKeys(
  session: PostgresSession,
  clientId: string,
  { models: allowed }: MemberPolicy,
): Promise<void> {
  const { rows } = await session.query<{ id: string; models: string[] | null }>(
    `select id, models from ${SCHEMA}.keys
     where client_id = $1 and of_member is not null and revoked_at is null and expires_at > now()`,
    [clientId],
  )
  const [kept, ended] = [true, false].map((isKept) =>
    rows.flatMap(({ id, models }) => (isWithinModels(models, allowed) === isKept ? [id] : [])),
  )
  await session.query(
    changing(`update ${SCHEMA}.keys k set version = change.version,
        expires_at = case when k.id = any($2) and of_member = 'lasting' then m.keys_end_at else expires_at end,
        revoked_at = case when k.id = any($3) then now() end
      from change, ${SCHEMA}.members m where m.id = $1 and k.id = any($2::text[] || $3::text[])`),
    [clientId, kept, ended],
  )
}

/** The budget of a member: of its client, for calls of a month with whichever key. */
export function budgetOf(clientId: string, amount: bigint) {
  const scope = { clientId, keyId: null, model: null }
  const order: LimitOrder = { kind: 'budget', per: 'month', isSoft: false, amount }
  return { scope, order }
}

async function boundBudget(
  session: PostgresSession,
  clientId: string,
  { memberBudgetPico: most }: MemberPolicy,
  who: string,
): Promise<void> {
  if (most === null) return
  const { scope, order } = budgetOf(clientId, most)
  const budget = await findLimit(session, scope, order)
  if (budget !== null && budget.amount <= most) return
  await setLimits(poolWithin(session), scope, [order], who)
}
