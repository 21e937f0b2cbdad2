import type { UtcDay } from '../../domain/utc-day.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { BudgetPeriod, Limit, LimitKind, WhenAlone } from '../limit.ts'
import type { LimitScope } from '../subject.ts'
import { addLimitChanges } from './limit-changes.ts'
import {
  LIMIT_COLUMNS,
  type LimitRow,
  limitFrom,
  MODEL_OF_LIMIT,
  modelColumnOf,
  takeLimitVersion,
} from './limit-rows.ts'

/** What tells limits of one scope apart: there is one of each. */
export interface LimitSort {
  readonly kind: LimitKind
  /** Of a budget; else `null`. */
  readonly per: BudgetPeriod | null
  readonly isSoft: boolean
}

/** A limit to be set. What is left out stays as it is, or is as `Limit` has it where it is new. */
export interface LimitOrder extends LimitSort {
  readonly amount: bigint
  readonly since?: UtcDay | undefined
  readonly countsCached?: boolean | undefined
  readonly allowsUnpriced?: boolean | undefined
  readonly whenAlone?: WhenAlone | undefined
}

/**
 * Sets limits, each in the place of the one of its sort, all or none. A raise stays. What is as it was already is not a
 * change.
 *
 * @returns The limits as they stand.
 */
export async function setLimits(
  pool: Postgres,
  scope: LimitScope,
  orders: readonly LimitOrder[],
  who: string,
): Promise<readonly Limit[]> {
  return await inTransaction(pool, async (session) => {
    const version = await takeLimitVersion(session)
    const limits: Limit[] = []
    for (const order of orders) limits.push(await setOneLimit(session, scope, order, who, version))
    return limits
  })
}

/** Sets one limit within a transaction. @param version The number of the change, from `takeLimitVersion`. */
export async function setOneLimit(
  session: PostgresSession,
  scope: LimitScope,
  order: LimitOrder,
  who: string,
  version: string,
): Promise<Limit> {
  const before = await findLimit(session, scope, order)
  const since = order.per === 'total' ? (order.since ?? before?.since ?? null) : null
  const countsCached = order.countsCached ?? before?.countsCached ?? true
  const allowsUnpriced = order.allowsUnpriced ?? before?.allowsUnpriced ?? false
  const whenAlone = order.whenAlone ?? before?.whenAlone ?? 'refuse'
  if (
    before?.amount === order.amount &&
    before.since === since &&
    before.countsCached === countsCached &&
    before.allowsUnpriced === allowsUnpriced &&
    before.whenAlone === whenAlone
  )
    return before
  const after =
    before === null
      ? await insertLimit(session, scope, { ...order, countsCached, allowsUnpriced, whenAlone }, version)
      : await updateLimit(
          session,
          { ...before, amount: order.amount, since, countsCached, allowsUnpriced, whenAlone },
          version,
        )
  await addLimitChanges(session, [{ who, action: 'set', before, after }])
  return after
}

/** The limit of a sort; `null`: there is none. No other transaction changes it before this one ends. */
export async function findLimit(
  session: PostgresSession,
  scope: LimitScope,
  { kind, per, isSoft }: LimitSort,
): Promise<Limit | null> {
  const { rows } = await session.query<LimitRow>(
    `select ${LIMIT_COLUMNS} from ${SCHEMA}.limits l
     where removed_at is null and coalesce(client_id, '') = coalesce($1, '')
       and (coalesce(key_id, '') = coalesce($2, '') or $2 = any(former_keys)) and coalesce(model, '') = coalesce($3, '')
       and kind = $4 and coalesce(per, '') = coalesce($5, '') and soft = $6`,
    [scope.clientId, scope.keyId, modelColumnOf(scope), kind, per, isSoft],
  )
  return rows[0] === undefined ? null : limitFrom(rows[0])
}

async function insertLimit(
  session: PostgresSession,
  scope: LimitScope,
  order: LimitOrder,
  version: string,
): Promise<Limit> {
  const { clientId, groupId = null, axis = null, value = null, keyId, formerKeys = [], model } = scope
  const { kind, amount, per, isSoft, since, countsCached, allowsUnpriced, whenAlone = 'refuse' } = order
  // Without a day, one for all time counts from the day it is set, by the database's clock.
  const { rows } = await session.query<LimitRow>(
    `insert into ${SCHEMA}.limits as l
       (client_id, key_id, model, kind, amount, per, soft, since, counts_cached, allows_unpriced, version,
        when_alone, group_id, axis, axis_value, subject_model, former_keys)
     values ($1, $2, $3, $4, $5, $6, $7,
       case when $6 = 'total' then coalesce($8::date, (now() at time zone 'UTC')::date) end, $9, $10, $11, $12,
       $13, $14, $15, $16, $17)
     returning ${LIMIT_COLUMNS}`,
    [
      clientId,
      keyId,
      modelColumnOf(scope),
      kind,
      amount,
      per,
      isSoft,
      since ?? null,
      countsCached,
      allowsUnpriced,
      version,
      whenAlone,
      groupId,
      axis,
      value,
      groupId === null && axis === null ? null : model,
      formerKeys,
    ],
  )
  return onlyLimit(rows)
}

/** Writes what of a limit can change. */
export async function updateLimit(session: PostgresSession, limit: Limit, version: string): Promise<Limit> {
  const { id, amount, raise, since, countsCached, allowsUnpriced, whenAlone } = limit
  const { rows } = await session.query<LimitRow>(
    `update ${SCHEMA}.limits l set amount = $2, raised_to = $3, raised_until = $4, since = $5, counts_cached = $6,
       allows_unpriced = $7, changed_at = now(), version = $8, when_alone = $9
     where id = $1 returning ${LIMIT_COLUMNS}`,
    [
      id,
      amount,
      raise?.amount ?? null,
      raise === null ? null : new Date(raise.untilMs),
      since,
      countsCached,
      allowsUnpriced,
      version,
      whenAlone,
    ],
  )
  return onlyLimit(rows)
}

function onlyLimit(rows: readonly LimitRow[]): Limit {
  const [row] = rows
  if (row === undefined) throw new Error('a limit was removed in spite of the lock of its change')
  return limitFrom(row)
}

/** Which limits are meant; what is left out may be anything. */
interface LimitFilter {
  readonly ids?: readonly string[] | undefined
  /** `null`: the defaults. */
  readonly clientId?: string | null | undefined
  /** `null`: those of clients and the defaults; left out: all. */
  readonly groupId?: string | null | undefined
  /** Values of this axis, or one; `null`: no limits of axes. */
  readonly axis?: string | null | undefined
  readonly value?: string | undefined
  readonly keyId?: string | undefined
  readonly model?: string | undefined
  /** Of these sorts; left out: of all. */
  readonly sorts?: readonly FilteredSort[] | undefined
}

export interface FilteredSort {
  readonly kind: LimitKind
  readonly per?: BudgetPeriod | undefined
  readonly isSoft?: boolean | undefined
}

/** Removes all limits that are meant. @returns Those removed, as they were; empty: there was none. */
export async function removeLimits(
  pool: Postgres,
  filter: LimitFilter,
  who: string,
): Promise<readonly Limit[]> {
  const { ids, clientId, groupId, axis, value, keyId, model, sorts } = filter
  return await inTransaction(pool, async (session) => {
    const version = await takeLimitVersion(session)
    const { rows } = await session.query<LimitRow>(
      `update ${SCHEMA}.limits l set removed_at = now(), changed_at = now(), version = $1
       where removed_at is null
         and ($2::bigint[] is null or id = any($2))
         and ($3::boolean or client_id is not distinct from $4)
         and ($5::text is null or key_id = $5 or $5 = any(former_keys)) and ($6::text is null or ${MODEL_OF_LIMIT} = $6)
         and ($10::boolean or group_id is not distinct from $11)
         and ($12::boolean or axis is not distinct from $13) and ($14::text is null or axis_value = $14)
         and ($7::text[] is null or exists (
           select from unnest($7::text[], $8::text[], $9::boolean[]) s (kind, per, soft)
           where s.kind = l.kind and coalesce(s.per = l.per, true) and coalesce(s.soft = l.soft, true)))
       returning ${LIMIT_COLUMNS}`,
      [
        version,
        ids ?? null,
        clientId === undefined,
        clientId ?? null,
        keyId ?? null,
        model ?? null,
        sorts?.map(({ kind }) => kind) ?? null,
        sorts?.map(({ per }) => per ?? null) ?? null,
        sorts?.map(({ isSoft }) => isSoft ?? null) ?? null,
        groupId === undefined,
        groupId ?? null,
        axis === undefined,
        axis ?? null,
        value ?? null,
      ],
    )
    const removed = rows.map(limitFrom)
    await addLimitChanges(
      session,
      removed.map((before) => ({ who, action: 'remove', before, after: null })),
    )
    return removed
  })
}
