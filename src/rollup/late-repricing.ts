import type { CountedCall } from '../call/call-record.ts'
import type { AdjustmentEntry } from '../corrections/adjustments.ts'
import { replacedUse } from '../corrections/reprice-calls.ts'
import {
  getRulePrices,
  type RepricingRule,
  type RulePrices,
  selectRules,
} from '../corrections/repricing-rules.ts'
import { selectClientAxes, ValueSums, valuesOf } from '../corrections/value-entries.ts'
import { utcDayOf } from '../domain/utc-day.ts'
import { selectClientNames } from '../keys/clients.ts'
import type { Catalog } from '../pricing/catalog/catalog.ts'
import type { Price } from '../pricing/price.ts'
import { repriceCall } from '../pricing/repricing/repricing.ts'
import { buildRuleCatalog, isInScope } from '../pricing/repricing/repricing-scope.ts'
import { catalogOfText } from '../pricing/sources/catalog-file.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { ListedSums } from '../usage/costs/operator-costs.ts'
import { keyOf, keyText } from '../usage/daily-key.ts'
import { selectPrices } from '../usage/price-definitions.ts'

/** Gives calls that come in after a repricing the cost that it would have given them. */
export interface LateRepricing {
  /**
   * The amounts to be added to the rows of these records by `addEntries`, once they are in the totals, in the same
   * transaction. The transaction must hold corrections of all days out, so that a repricing sees either the record or
   * not, and its rule likewise.
   */
  plan(session: PostgresSession, records: readonly CountedCall[]): Promise<readonly LateEntries[]>
}

/** The amounts that one repricing adds to rows. */
export interface LateEntries {
  readonly adjustmentId: string
  readonly entries: readonly AdjustmentEntry[]
}

interface LateEntry extends AdjustmentEntry {
  readonly values: ValueSums
  readonly listed: ListedSums
}

const NONE: readonly never[] = []

/** Prices by rule that are kept in memory; an operator makes a few a year. */
const MAX_CATALOGS = 20

export function createLateRepricing(): LateRepricing {
  const catalogs = new Map<string, Catalog | null>()

  async function catalogOf(
    session: PostgresSession,
    { adjustmentId }: RepricingRule,
  ): Promise<Catalog | null> {
    const known = catalogs.get(adjustmentId)
    if (known !== undefined) return known
    const built = buildOrNull(await getRulePrices(session, adjustmentId))
    if (catalogs.size >= MAX_CATALOGS) catalogs.clear()
    catalogs.set(adjustmentId, built)
    return built
  }

  return {
    async plan(session, records) {
      const rules = await selectRules(session)
      if (rules.length === 0) return NONE
      const late = records.flatMap((record) => {
        const rule = ruleFor(rules, record)
        return rule === null ? [] : [{ record, rule }]
      })
      if (late.length === 0) return NONE
      const names = await selectClientNames(session, new Set(late.map(({ record }) => record.clientId)))
      const axes = await selectClientAxes(session, new Set(late.map(({ record }) => record.clientId)))
      const prices = await selectPrices(session, new Set(late.map(({ record }) => record.priceId ?? '')))
      const planned: LateEntries[] = []
      for (const [rule, calls] of Map.groupBy(late, (call) => call.rule)) {
        const catalog = await catalogOf(session, rule)
        if (catalog === null) continue
        const entries = new Map<string, LateEntry>()
        for (const { record } of calls) addRecord(entries, catalog, record, names, prices, axes)
        planned.push({
          adjustmentId: rule.adjustmentId,
          entries: [...entries.values()].map(({ values, listed, ...entry }) => ({
            ...entry,
            byValue: values.entries(),
            lines: listed.lines(),
          })),
        })
      }
      return planned
    },
  }
}

/** `null`: not a rule that this release can read. Calls are counted as metered then; nothing may stop the counting. */
function buildOrNull({ source, data, settings }: RulePrices): Catalog | null {
  try {
    return buildRuleCatalog(catalogOfText(source, data), settings)
  } catch {
    return null
  }
}

/** The rule that decides on a call; `null`: it stays as metered. */
function ruleFor(rules: readonly RepricingRule[], record: CountedCall): RepricingRule | null {
  const { model, provider, arrivedAtMs, costPico, priceId } = record
  if (costPico !== null && priceId === null) return null // it used nothing
  const newest = rules.find((rule) => isInScope(rule, { model, provider, day: utcDayOf(arrivedAtMs) }))
  if (newest === undefined) return null
  return arrivedAtMs < newest.madeAtMs || newest.superseded.has(costPico === null ? '' : (priceId ?? ''))
    ? newest
    : null
}

function addRecord(
  entries: Map<string, LateEntry>,
  catalog: Catalog,
  record: CountedCall,
  names: ReadonlyMap<string, string>,
  prices: ReadonlyMap<string, Price>,
  axes: ReadonlyMap<string, readonly string[]>,
): void {
  const priceId = record.priceId ?? ''
  const costPico = record.costPico === null ? null : BigInt(record.costPico)
  const clientName = names.get(record.clientId) ?? null
  const call = { ...record, costPico, clientName, isSettlement: record.settlement !== undefined }
  const price = prices.get(priceId) ?? null
  const cost = repriceCall(catalog, call, price)
  // A row that cannot be repriced stays as metered: the next run of the command names it.
  if (cost.kind !== 'cost') return
  const key = keyOf(record)
  const before = entries.get(keyText(key))
  const added = { pico: cost.costPico - (costPico ?? 0n), pricedCalls: cost.wasUnpriced ? 1n : 0n }
  const listed = before?.listed ?? new ListedSums()
  listed.replace(...replacedUse(call, price, cost))
  const values = before?.values ?? new ValueSums()
  values.add(valuesOf(record.axes, axes.get(record.clientId)), added)
  entries.set(keyText(key), {
    key,
    pico: (before?.pico ?? 0n) + added.pico,
    pricedCalls: (before?.pricedCalls ?? 0n) + added.pricedCalls,
    values,
    listed,
  })
}
