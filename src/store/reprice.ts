import type { Catalog } from '../domain/catalog.ts'
import type { CatalogEntries } from '../domain/catalog-entries.ts'
import type { RepricingScope, RepricingSettings } from '../domain/repricing.ts'
import { repriceRow } from '../domain/repricing-sums.ts'
import { addAdjustment, addEntries } from './adjustments.ts'
import { selectCallDays } from './call-partitions.ts'
import { selectClientNames } from './client-names.ts'
import { lockCorrections } from './corrections-lock.ts'
import { type DailyKey, keyText } from './daily-key.ts'
import { inTransaction, type Postgres, type PostgresSession } from './postgres.ts'
import { selectPrices } from './price-definitions.ts'
import { type RepricingPrices, type RowFromCalls, repriceCalls } from './reprice-calls.ts'
import { type RowToReprice, selectRowsToReprice } from './reprice-rows.ts'
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
  /** Whether the model is known to have a price, so that a rule is worth leaving where it was not used yet. */
  readonly hasPrice: boolean
  /** Rows whose new cost cannot be told stay as they are, instead of stopping everything. */
  readonly leaveOut: boolean
}

/** A row whose cost is another now. */
export interface RepricedRow {
  readonly key: DailyKey
  readonly provider: string
  readonly calls: bigint
  /** Calls that had no cost and have one now; negative where an earlier repricing gave one that no longer holds. */
  readonly pricedCalls: bigint
  /** Metered and adjusted. */
  readonly beforePico: bigint
  readonly afterPico: bigint
}

/** A row whose new cost cannot be told. */
export interface RefusedRow {
  readonly key: DailyKey
  readonly calls: bigint
  readonly reason: string
}

export interface Repriced {
  /**
   * `refused`: nothing was changed because of `refused`. `unchanged`: everything is as it should be. `priceless`:
   * there is no price for any of it, and nothing was changed.
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

/**
 * Prices past days again, all of it or nothing, and leaves a rule for calls that are rolled up later. Once done,
 * doing it again changes nothing. Days whose calls are kept are priced call by call, others by their sums where that
 * is exact. Roll-ups wait meanwhile, so that no call is in between.
 */
export async function reprice(pool: Postgres, order: RepriceOrder): Promise<Repriced> {
  return await inTransaction(pool, async (session) => {
    if (order.dryRun) await session.query('set transaction isolation level repeatable read, read only')
    // 1. No roll-up from here on: it would read the rules of before, and add to rows that were read.
    else await lockCorrections(session)
    const plan = await planOf(session, order)
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

interface Plan {
  readonly rows: readonly RepricedRow[]
  readonly refused: readonly RefusedRow[]
  /** Prices of calls that have another one now, and '' for those that have none yet. */
  readonly superseded: ReadonlySet<string>
  readonly totalPico: bigint
  readonly counts: Pick<Repriced, 'rowsInScope' | 'callsInScope' | 'stillUnpriced'>
}

async function planOf(session: PostgresSession, { scope, catalog }: RepriceOrder): Promise<Plan> {
  const rows = await selectRowsToReprice(session, scope)
  const prices: RepricingPrices = {
    catalog,
    oldPrices: await selectPrices(session, new Set(rows.map(({ key }) => key.priceId))),
    clientNames: await selectClientNames(session, new Set(rows.map(({ key }) => key.clientId))),
  }
  const keptDays = await selectCallDays(session)
  const days = [...new Set(rows.map(({ key }) => key.day))].filter((day) => keptDays.has(day)).sort()
  const fromCalls = await repriceCalls(session, scope, days, prices)

  const repriced: RepricedRow[] = []
  const refused: RefusedRow[] = []
  const superseded = new Set([''])
  let stillUnpriced = 0n
  for (const row of rows) {
    const calls = row.sums.requests
    const outcome = priceRow(row, fromCalls.get(keyText(row.key)), prices)
    if (outcome.kind === 'unknown') {
      refused.push({ key: row.key, calls, reason: outcome.reason })
      stillUnpriced += row.unpriced - row.pricedLater
      continue
    }
    if (outcome.isOther) superseded.add(row.key.priceId)
    stillUnpriced += row.unpriced - outcome.pricedCalls
    const beforePico = row.costPico + row.adjustedPico
    // What credits by hand have added stays as it is.
    const credits = row.adjustedPico - row.repricedPico
    const afterPico = row.costPico + outcome.deltaPico + credits
    const pricedCalls = outcome.pricedCalls - row.pricedLater
    repriced.push({ key: row.key, provider: row.provider, calls, pricedCalls, beforePico, afterPico })
  }
  return {
    rows: repriced,
    refused,
    superseded,
    totalPico: rows.reduce((sum, row) => sum + row.costPico + row.adjustedPico, 0n),
    counts: {
      rowsInScope: rows.length,
      callsInScope: rows.reduce((sum, row) => sum + row.sums.requests, 0n),
      stillUnpriced,
    },
  }
}

type RowOutcome =
  | {
      readonly kind: 'known'
      /** What the newer prices add to the metered cost. */
      readonly deltaPico: bigint
      readonly pricedCalls: bigint
      /** Whether any of its calls has another price now. */
      readonly isOther: boolean
    }
  | { readonly kind: 'unknown'; readonly reason: string }

/** From its calls where all of them are kept, else from its sums. */
function priceRow(
  row: RowToReprice,
  fromCalls: RowFromCalls | undefined,
  { catalog, oldPrices, clientNames }: RepricingPrices,
): RowOutcome {
  const { key, costPico, sums } = row
  if (fromCalls?.calls === sums.requests && fromCalls.costPico === costPico) {
    const [first] = fromCalls.unknown
    if (first !== undefined) return { kind: 'unknown', reason: `${first[0]} (${first[1]} calls)` }
    const { deltaPico, pricedCalls, repriced } = fromCalls
    return { kind: 'known', deltaPico, pricedCalls, isOther: repriced > 0n }
  }
  const { day, upstream, model, priceId } = key
  const { provider, unpriced, invalid } = row
  const clientName = clientNames.get(key.clientId) ?? null
  const past = { day, provider, upstream, clientName, model, priceId, unpriced, invalid, sums }
  const cost = repriceRow(catalog, past, oldPrices.get(priceId) ?? null)
  switch (cost.kind) {
    case 'as_metered':
      return { kind: 'known', deltaPico: 0n, pricedCalls: 0n, isOther: false }
    case 'cost':
      return {
        kind: 'known',
        deltaPico: cost.costPico - costPico,
        pricedCalls: cost.pricedCalls,
        isOther: true,
      }
    case 'unknown':
      return cost
    default:
      return cost satisfies never
  }
}
