import { inTransaction, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { Limit } from '../limit.ts'
import type { LimitScope } from '../subject.ts'
import { findLimit, type LimitSort, updateLimit } from './change-limits.ts'
import { addLimitChanges } from './limit-changes.ts'
import { takeLimitVersion } from './limit-rows.ts'

/** A limit to be raised for a while. */
export interface RaiseOrder extends LimitSort {
  readonly amount: bigint
}

export type Raised =
  | { readonly kind: 'raised'; readonly limits: readonly Limit[] }
  /** There is no such limit. */
  | { readonly kind: 'missing'; readonly sort: LimitSort }
  /** It would not be more than the limit allows anyway. */
  | { readonly kind: 'not_above'; readonly limit: Limit }

/** Raises limits until a moment, all or none; each in the place of the raise before. */
export async function raiseLimits(
  pool: Postgres,
  scope: LimitScope,
  orders: readonly RaiseOrder[],
  untilMs: number,
  who: string,
): Promise<Raised> {
  return await inTransaction(pool, async (session): Promise<Raised> => {
    const version = await takeLimitVersion(session)
    const found: { readonly before: Limit; readonly amount: bigint }[] = []
    for (const order of orders) {
      const before = await findLimit(session, scope, order)
      if (before === null) return { kind: 'missing', sort: order }
      if (order.amount <= before.amount) return { kind: 'not_above', limit: before }
      found.push({ before, amount: order.amount })
    }
    const limits: Limit[] = []
    for (const { before, amount } of found) {
      const after = await updateLimit(session, { ...before, raise: { amount, untilMs } }, version)
      await addLimitChanges(session, [{ who, action: 'raise', before, after }])
      limits.push(after)
    }
    return { kind: 'raised', limits }
  })
}

export type ToppedUp =
  | { readonly kind: 'topped_up'; readonly limit: Limit }
  /** The same reference has topped it up before: nothing was added again. */
  | { readonly kind: 'repeated'; readonly limit: Limit }
  | { readonly kind: 'missing' }
  /** Taking so much away would leave nothing. */
  | { readonly kind: 'too_little'; readonly limit: Limit }

/**
 * Adds an amount to a prepaid budget, for good.
 *
 * @param pico Below 0: takes it away.
 * @param reference Names a payment, which tops a budget up once, however often it is sent; `null`: it has no name.
 */
export async function topUpBudget(
  pool: Postgres,
  scope: LimitScope,
  {
    isSoft,
    pico,
    reference,
  }: { readonly isSoft: boolean; readonly pico: bigint; readonly reference: string | null },
  who: string,
): Promise<ToppedUp> {
  return await inTransaction(pool, async (session): Promise<ToppedUp> => {
    const version = await takeLimitVersion(session)
    const before = await findLimit(session, scope, { kind: 'budget', per: 'total', isSoft })
    if (before === null) return { kind: 'missing' }
    const { rowCount } = await session.query(
      `select from ${SCHEMA}.limit_changes where limit_id = $1 and reference = $2`,
      [before.id, reference],
    )
    if (rowCount !== 0) return { kind: 'repeated', limit: before }
    if (before.amount + pico <= 0n) return { kind: 'too_little', limit: before }
    const after = await updateLimit(session, { ...before, amount: before.amount + pico }, version)
    await addLimitChanges(session, [{ who, action: 'top_up', before, after, reference }])
    return { kind: 'topped_up', limit: after }
  })
}
