import { selectClientNames } from '../keys/clients.ts'
import type { Catalog } from '../pricing/catalog/catalog.ts'
import type { ListedLine } from '../pricing/contracts/three-costs.ts'
import type { RepricingScope } from '../pricing/repricing/repricing-scope.ts'
import { repriceRow } from '../pricing/repricing/repricing-sums.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import type { DayPart } from '../usage/calls/call-partitions.ts'
import { selectCallDays } from '../usage/calls/call-partitions.ts'
import { ListedSums } from '../usage/costs/operator-costs.ts'
import { type DailyKey, keyText } from '../usage/daily-key.ts'
import { selectPrices } from '../usage/price-definitions.ts'
import { type RepricingPrices, type RowFromCalls, repriceCalls } from './reprice-calls.ts'
import { type RowToReprice, selectRowsToReprice } from './reprice-rows.ts'
import { selectClientAxes, selectRepricedValues, type ValueEntry, ValueSums } from './value-entries.ts'

/** A row whose cost is another now. */
export interface RepricedRow {
  readonly key: DailyKey
  readonly provider: string
  readonly calls: bigint
  /**
   * Calls that had no cost and have one now; negative where an earlier repricing gave one that no longer
   * holds.
   */
  readonly pricedCalls: bigint
  /** Metered and adjusted. */
  readonly beforePico: bigint
  readonly afterPico: bigint
  /** What changes by the values of its calls; `null`: not known. */
  readonly byValue: readonly ValueEntry[] | null
  /** The same at list prices. */
  readonly lines: readonly ListedLine[]
}

/** A row whose new cost cannot be known. */
export interface RefusedRow {
  readonly key: DailyKey
  readonly calls: bigint
  readonly reason: string
}

/** What a repricing would do, nothing of it done. */
export interface Plan {
  readonly rows: readonly RepricedRow[]
  readonly refused: readonly RefusedRow[]
  /** Prices of calls that have another one now, and '' for those that have none yet. */
  readonly superseded: ReadonlySet<string>
  readonly totalPico: bigint
  readonly counts: {
    readonly rowsInScope: number
    /** Priced call by call; the others by their sums. */
    readonly rowsFromCalls: number
    readonly callsInScope: bigint
    readonly stillUnpriced: bigint
    /** Calls that stay as they are, as no price is known for their day. */
    readonly unknownDay: bigint
  }
}

type RowsFromCalls = ReadonlyMap<string, RowFromCalls>
export const NOTHING_READ: RowsFromCalls = new Map()

/** All that a plan is made from. */
export interface Scope {
  readonly rows: readonly RowToReprice[]
  /** By `keyText`, for rows of days whose calls are kept. */
  readonly fromCalls: RowsFromCalls
  readonly prices: RepricingPrices
  /** What earlier repricings added to each row by the values of its calls; by `keyText`. */
  readonly before: ReadonlyMap<string, ValueSums>
}

/**
 * Reads the rows of a part that are in the scope, and prices its calls where they are kept.
 *
 * @param ahead What was read of calls before. Calls only ever come: a row that has as many as then has the
 * same.
 */
export async function readScope(
  session: PostgresSession,
  { scope, catalog }: { readonly scope: RepricingScope; readonly catalog: Catalog },
  part: DayPart,
  ahead: RowsFromCalls,
): Promise<Scope> {
  const rows = await selectRowsToReprice(session, scope, part)
  const prices: RepricingPrices = {
    catalog,
    oldPrices: await selectPrices(session, new Set(rows.map(({ key }) => key.priceId))),
    clientNames: await selectClientNames(session, new Set(rows.map(({ key }) => key.clientId))),
    clientAxes: await selectClientAxes(session, new Set(rows.map(({ key }) => key.clientId))),
  }
  const before = await selectRepricedValues(session, rows)
  const hasChanged = rows.some((row) => !isWhole(row, ahead.get(keyText(row.key))))
  if (!hasChanged || !(await selectCallDays(session)).has(part.day))
    return { rows, fromCalls: ahead, prices, before }
  return { rows, fromCalls: await repriceCalls(session, scope, part, prices), prices, before }
}

/** Whether the calls that were read of a row are all of its calls. */
export function isWhole(
  { sums, costPico }: RowToReprice,
  fromCalls: Pick<RowFromCalls, 'calls' | 'costPico'> | undefined,
): boolean {
  return fromCalls?.calls === sums.requests && fromCalls.costPico === costPico
}

/** What the rows cost by the newer prices, and which of them cannot be priced. */
export function planOf({ rows, fromCalls, prices, before }: Scope): Plan {
  const repriced: RepricedRow[] = []
  const refused: RefusedRow[] = []
  const superseded = new Set([''])
  let stillUnpriced = 0n
  let unknownDay = 0n
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
    unknownDay += outcome.unknownDay
    const beforePico = row.costPico + row.adjustedPico
    // What credits by hand have added stays as it is.
    const credits = row.adjustedPico - row.repricedPico
    const afterPico = row.costPico + outcome.deltaPico + credits
    const pricedCalls = outcome.pricedCalls - row.pricedLater
    const { byValue, listed } = outcome
    const lines = new ListedSums()
    lines.add(listed.lines())
    lines.add(row.repricedLines, -1n)
    repriced.push({
      key: row.key,
      provider: row.provider,
      calls,
      pricedCalls,
      beforePico,
      afterPico,
      byValue: byValue === null ? null : byValue.less(before.get(keyText(row.key))),
      lines: lines.lines(),
    })
  }
  return {
    rows: repriced,
    refused,
    superseded,
    totalPico: rows.reduce((sum, row) => sum + row.costPico + row.adjustedPico, 0n),
    counts: {
      rowsInScope: rows.length,
      rowsFromCalls: rows.filter((row) => isWhole(row, fromCalls.get(keyText(row.key)))).length,
      callsInScope: rows.reduce((sum, row) => sum + row.sums.requests, 0n),
      stillUnpriced,
      unknownDay,
    },
  }
}

type RowOutcome =
  | {
      readonly kind: 'known'
      /** What the newer prices add to the metered cost. */
      readonly deltaPico: bigint
      readonly pricedCalls: bigint
      readonly unknownDay: bigint
      /** Whether any of its calls has another price now. */
      readonly isOther: boolean
      /** The first two by the values of its calls; `null`: these are not known. */
      readonly byValue: ValueSums | null
      /** The first one at list prices. */
      readonly listed: ListedSums
    }
  | { readonly kind: 'unknown'; readonly reason: string }

const AS_METERED = {
  ...({ kind: 'known', deltaPico: 0n, pricedCalls: 0n, isOther: false } as const),
  listed: new ListedSums(),
}

/** From its calls where all of them are kept, else from its sums. */
function priceRow(
  row: RowToReprice,
  fromCalls: RowFromCalls | undefined,
  { catalog, oldPrices, clientNames }: RepricingPrices,
): RowOutcome {
  const { key, costPico, sums } = row
  if (fromCalls !== undefined && isWhole(row, fromCalls)) {
    const [first] = fromCalls.unknown
    if (first !== undefined) return { kind: 'unknown', reason: `${first[0]} (${first[1]} calls)` }
    const { deltaPico, pricedCalls, unknownDay, repriced, byValue, listed } = fromCalls
    return { kind: 'known', deltaPico, pricedCalls, unknownDay, isOther: repriced > 0n, byValue, listed }
  }
  const { day, upstream, model, priceId } = key
  const { provider, unpriced, invalid, withoutFigures } = row
  const clientName = clientNames.get(key.clientId) ?? null
  const counts = { unpriced, invalid, withoutFigures, sums }
  const past = { day, provider, upstream, clientName, model, priceId, ...counts }
  const oldPrice = oldPrices.get(priceId) ?? null
  const cost = repriceRow(catalog, past, oldPrice)
  const listed = new ListedSums()
  switch (cost.kind) {
    case 'as_metered':
      return { ...AS_METERED, unknownDay: 0n, byValue: new ValueSums() }
    case 'unknown_day':
      return { ...AS_METERED, unknownDay: sums.requests, byValue: new ValueSums() }
    case 'cost':
      listed.replace({ costPico, sums, price: oldPrice }, cost)
      return {
        kind: 'known',
        deltaPico: cost.costPico - costPico,
        pricedCalls: cost.pricedCalls,
        unknownDay: 0n,
        isOther: true,
        byValue: null,
        listed,
      }
    case 'unknown':
      return cost
    default:
      return cost satisfies never
  }
}
