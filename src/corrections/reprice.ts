import type { Catalog } from '../pricing/catalog/catalog.ts'
import type { CatalogEntries } from '../pricing/catalog/catalog-entries.ts'
import type { RepricingScope, RepricingSettings } from '../pricing/repricing/repricing-scope.ts'
import { lockCorrections } from '../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres } from '../store/connection/postgres.ts'
import { addAdjustment, addEntries } from './adjustments.ts'
import { NOTHING_READ, planOf, type RefusedRow, type RepricedRow, readScope } from './reprice-plan.ts'
import { addRule, isCovered } from './repricing-rules.ts'

export interface RepriceOrder {
  readonly scope: RepricingScope
  /** The prices that are right, and all it takes to build them again. */
  readonly catalog: Catalog
  readonly entries: CatalogEntries
  readonly catalogText: string
  readonly settings: RepricingSettings
  readonly who: string
  readonly why: string
  /** Only says what would change. */
  readonly dryRun: boolean
  /**
   * Whether the model is known to have a price, so that a rule is worth leaving where it was not used yet.
   */
  readonly hasPrice: boolean
  /** Rows whose new cost cannot be known stay as they are, instead of stopping everything. */
  readonly leaveOut: boolean
}

export interface Repriced {
  /**
   * `refused`: nothing was changed because of `refused`. `unchanged`: everything is as it should be.
   * `priceless`: there is no price for any of it, and nothing was changed.
   */
  readonly kind: 'changed' | 'unchanged' | 'refused' | 'priceless'
  /** `null`: nothing was written. */
  readonly adjustmentId: string | null
  readonly rows: readonly RepricedRow[]
  readonly refused: readonly RefusedRow[]
  /** Rows and calls in the scope, and calls that still have no price. */
  readonly rowsInScope: number
  readonly callsInScope: bigint
  readonly stillUnpriced: bigint
  /** The cost of all rows in the scope, metered and adjusted. */
  readonly beforePico: bigint
  readonly afterPico: bigint
}

const ONE_SNAPSHOT = 'set transaction isolation level repeatable read, read only'

/**
 * Prices past days again, all of it or nothing, and leaves a rule for calls that are rolled up later. Once
 * done, doing it again changes nothing. Days whose calls are kept are priced call by call, others by their
 * sums where that is exact. Roll-ups wait while it decides, so that no call is in between.
 */
export async function reprice(pool: Postgres, order: RepriceOrder): Promise<Repriced> {
  // Ahead of the lock, so that roll-ups wait only for the days that have changed since.
  const ahead = await inTransaction(pool, async (session) => {
    await session.query(ONE_SNAPSHOT)
    return (await readScope(session, order, NOTHING_READ)).fromCalls
  })
  return await inTransaction(pool, async (session): Promise<Repriced> => {
    if (order.dryRun) await session.query(ONE_SNAPSHOT)
    // 1. No roll-up from here on: it would read the rules of before, and add to rows that were read.
    else await lockCorrections(session)
    const plan = planOf(await readScope(session, order, ahead))
    const refused = plan.refused.length > 0 && !order.leaveOut
    const changes = plan.rows.filter(({ beforePico, afterPico, pricedCalls }) => {
      return beforePico !== afterPico || pricedCalls !== 0n
    })
    const beforePico = plan.totalPico
    const afterPico = changes.reduce((sum, row) => sum + row.afterPico - row.beforePico, beforePico)
    const result = { ...plan.counts, rows: changes, refused: plan.refused, beforePico, afterPico }
    if (refused) return { ...result, kind: 'refused', adjustmentId: null }
    const isPriceless =
      result.rowsInScope === 0 ? !order.hasPrice : result.stillUnpriced === result.callsInScope
    if (changes.length === 0 && isPriceless) return { ...result, kind: 'priceless', adjustmentId: null }
    const { scope, entries, settings } = order
    const isUnchanged = changes.length === 0 && (await isCovered(session, scope, entries, settings))
    if (isUnchanged) return { ...result, kind: 'unchanged', adjustmentId: null }
    if (order.dryRun) return { ...result, kind: 'changed', adjustmentId: null }

    // 2. Who, when, why, before and after.
    const adjustmentId = await addAdjustment(session, {
      kind: 'reprice',
      who: order.who,
      why: order.why,
      scope,
      beforePico,
      afterPico,
    })
    // 3. The rows, and what was added to each.
    await addEntries(
      session,
      adjustmentId,
      changes.map((row) => ({ ...row, pico: row.afterPico - row.beforePico })),
    )
    // 4. The rule: what is rolled up after this commit is priced by it in its own transaction.
    const prices = { source: entries.source, data: order.catalogText, settings }
    await addRule(session, adjustmentId, scope, plan.superseded, prices)
    return { ...result, kind: 'changed', adjustmentId }
  })
}
