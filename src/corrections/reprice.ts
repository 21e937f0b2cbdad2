import type { UtcDay } from '../domain/utc-day.ts'
import type { Catalog } from '../pricing/catalog/catalog.ts'
import type { CatalogEntries } from '../pricing/catalog/catalog-entries.ts'
import type { RepricingScope, RepricingSettings } from '../pricing/repricing/repricing-scope.ts'
import { lockCorrections, lockDays } from '../store/connection/advisory-locks.ts'
import {
  inSnapshot,
  inTransaction,
  type Postgres,
  type PostgresSession,
} from '../store/connection/postgres.ts'
import { type DayPart, PART_SIZE, type PartSize } from '../usage/calls/call-partitions.ts'
import { addAdjustment, addEntries, touchAdjustment } from './adjustments.ts'
import {
  NOTHING_READ,
  type Plan,
  planOf,
  type RefusedRow,
  type RepricedRow,
  readScope,
  type Scope,
} from './reprice-plan.ts'
import { selectPartsInScope } from './reprice-rows.ts'
import { addRule, addSuperseded, findUnfinishedRule, isCovered, setApplied } from './repricing-rules.ts'

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

/** What a repricing changes of one model on one day. */
interface RepricedDay {
  readonly day: UtcDay
  readonly model: string
  calls: bigint
  pricedCalls: bigint
  beforePico: bigint
  afterPico: bigint
}

/** Rows that are named; a year of many clients has millions. */
const MOST_NAMED = 10_000

/** What a repricing does, summed up over the parts of its days, in memory that does not grow with their rows. */
export class RepricingSums {
  /** The first ones that change, and that cannot be priced. */
  readonly rows: RepricedRow[] = []
  readonly refused: RefusedRow[] = []
  readonly byDay: RepricedDay[] = []
  readonly superseded = new Set([''])
  rowsChanged = 0
  rowsRefused = 0
  rowsInScope = 0
  /** Of these, priced call by call. */
  rowsFromCalls = 0
  pricedCalls = 0n
  callsInScope = 0n
  stillUnpriced = 0n
  unknownDay = 0n
  /** The cost of all rows in the scope, metered and adjusted. */
  beforePico = 0n
  afterPico = 0n
  #days = new Map<string, RepricedDay>()

  /** @returns The rows of the plan that change. */
  add(plan: Plan): readonly RepricedRow[] {
    const changes = plan.rows.filter(
      ({ beforePico, afterPico, pricedCalls }) => beforePico !== afterPico || pricedCalls !== 0n,
    )
    for (const row of changes) this.#addRow(row)
    for (const price of plan.superseded) this.superseded.add(price)
    this.rows.push(...changes.slice(0, MOST_NAMED - this.rows.length))
    this.refused.push(...plan.refused.slice(0, MOST_NAMED - this.refused.length))
    this.rowsChanged += changes.length
    this.rowsRefused += plan.refused.length
    this.rowsInScope += plan.counts.rowsInScope
    this.rowsFromCalls += plan.counts.rowsFromCalls
    this.callsInScope += plan.counts.callsInScope
    this.stillUnpriced += plan.counts.stillUnpriced
    this.unknownDay += plan.counts.unknownDay
    this.beforePico += plan.totalPico
    this.afterPico += plan.totalPico
    return changes
  }

  #addRow({ key: { day, model }, calls, pricedCalls, beforePico, afterPico }: RepricedRow): void {
    const name = `${day}\0${model}`
    let sums = this.#days.get(name)
    if (sums === undefined) {
      sums = { day, model, calls: 0n, pricedCalls: 0n, beforePico: 0n, afterPico: 0n }
      this.#days.set(name, sums)
      this.byDay.push(sums)
    }
    sums.calls += calls
    sums.pricedCalls += pricedCalls
    sums.beforePico += beforePico
    sums.afterPico += afterPico
    this.pricedCalls += pricedCalls
    this.afterPico += afterPico - beforePico
  }
}

export interface Repriced {
  /**
   * `refused`: nothing was changed because of what could not be priced. `unchanged`: everything is as it should
   * be. `priceless`: there is no price for any of it, and nothing was changed.
   */
  readonly kind: 'changed' | 'unchanged' | 'refused' | 'priceless'
  /** `null`: nothing was written. */
  readonly adjustmentId: string | null
  readonly sums: RepricingSums
}

export interface RepriceOptions {
  /** Called after each part of a day, with the calls in the scope that were gone through so far. */
  readonly onProgress?: (day: UtcDay, calls: number) => void
  readonly partSize?: PartSize
}

/**
 * Prices past days again and leaves a rule for calls that are rolled up later. Once done, doing it again changes
 * nothing. Days whose calls are kept are priced call by call, others by their sums where that is exact.
 *
 * Nothing is written until all of it is known to have a price. The rule comes first: what is rolled up after it
 * is priced by it. Then past days are brought to it part by part, each in one transaction that locks its day
 * alone. One that is cut there is taken up by the same command: what a row should have is computed, not added.
 */
export async function reprice(
  pool: Postgres,
  order: RepriceOrder,
  { onProgress = () => {}, partSize = PART_SIZE }: RepriceOptions = {},
): Promise<Repriced> {
  const parts = await selectPartsInScope(pool, order.scope, partSize)
  // 1. What it would do.
  const planned = new RepricingSums()
  for (const part of parts) {
    planned.add(planOf(await readAhead(pool, order, part)))
    onProgress(part.day, Number(planned.callsInScope))
  }
  const { scope, entries, settings } = order
  const isUnchanged = planned.rowsChanged === 0
  const result = { sums: planned, adjustmentId: null }
  if (planned.rowsRefused > 0 && !order.leaveOut) return { ...result, kind: 'refused' }
  const isPriceless =
    planned.rowsInScope === 0 ? !order.hasPrice : planned.stillUnpriced === planned.callsInScope
  if (isUnchanged && isPriceless) return { ...result, kind: 'priceless' }
  const covered = isUnchanged
    ? await inTransaction(pool, (session) => isCovered(session, scope, entries, settings))
    : false
  if (order.dryRun) return { ...result, kind: covered ? 'unchanged' : 'changed' }
  // 2. The rule, with who, when, why, before and after.
  const adjustmentId = await inTransaction(pool, async (session) => {
    await lockCorrections(session)
    const unfinished = await findUnfinishedRule(session, scope, entries, settings)
    return unfinished ?? (covered ? null : await addRepricing(session, order, planned))
  })
  if (adjustmentId === null) return { ...result, kind: 'unchanged' }
  // 3. The rows, and what was added to each.
  const done = new RepricingSums()
  for (const part of parts) {
    await repricePart(pool, order, part, adjustmentId, done)
    onProgress(part.day, Number(done.callsInScope))
  }
  await inTransaction(pool, (session) => setApplied(session, adjustmentId))
  return { kind: 'changed', adjustmentId, sums: done }
}

async function addRepricing(
  session: PostgresSession,
  { scope, who, why, entries, catalogText, settings }: RepriceOrder,
  { beforePico, afterPico, superseded }: RepricingSums,
): Promise<string> {
  const adjustmentId = await addAdjustment(session, {
    kind: 'reprice',
    who,
    why,
    scope,
    beforePico,
    afterPico,
  })
  const prices = { source: entries.source, data: catalogText, settings }
  await addRule(session, adjustmentId, scope, superseded, prices)
  return adjustmentId
}

async function repricePart(
  pool: Postgres,
  order: RepriceOrder,
  part: DayPart,
  adjustmentId: string,
  done: RepricingSums,
): Promise<void> {
  // Ahead of the lock, so that roll-ups of the day wait only for the calls that have come since.
  const { fromCalls } = await readAhead(pool, order, part)
  const plan = await inTransaction(pool, async (session) => {
    await lockDays(session, [part.day])
    const found = planOf(await readScope(session, order, part, fromCalls))
    const changes = new RepricingSums().add(found)
    await addEntries(
      session,
      adjustmentId,
      changes.map(({ byValue, ...row }) => ({
        ...row,
        pico: row.afterPico - row.beforePico,
        ...(byValue === null ? {} : { byValue }),
      })),
    )
    await addSuperseded(session, adjustmentId, found.superseded)
    if (changes.length > 0) await touchAdjustment(session, adjustmentId)
    return found
  })
  done.add(plan)
}

async function readAhead(pool: Postgres, order: RepriceOrder, part: DayPart): Promise<Scope> {
  return await inSnapshot(pool, (session) => readScope(session, order, part, NOTHING_READ))
}
