import type { Catalog } from '../pricing/catalog/catalog.ts'
import type { Price } from '../pricing/price.ts'
import { repriceCall } from '../pricing/repricing/repricing.ts'
import type { RepricingScope } from '../pricing/repricing/repricing-scope.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import type { DayPart } from '../usage/calls/day-parts.ts'
import { type DailyKey, keyText } from '../usage/daily-key.ts'
import { readKeptCalls } from './past-calls.ts'

/** What the single calls of one row say about it. */
export interface RowFromCalls {
  readonly key: DailyKey
  calls: bigint
  /** As metered. */
  costPico: bigint
  /** What the newer prices add to that. */
  deltaPico: bigint
  /** Calls whose price is another now. */
  repriced: bigint
  /** Of those, calls that had none. */
  pricedCalls: bigint
  /** Calls that stay as they are, as no price is known for their day. */
  unknownDay: bigint
  /** Why calls cannot be priced again, and how many. */
  readonly unknown: Map<string, number>
}

/** What a repricing looks prices up by. */
export interface RepricingPrices {
  readonly catalog: Catalog
  readonly oldPrices: ReadonlyMap<string, Price>
  readonly clientNames: ReadonlyMap<string, string>
}

/** Prices the kept calls of a part of a day again, and adds them up by their rows; by `keyText`. */
export async function repriceCalls(
  session: PostgresSession,
  scope: RepricingScope,
  part: DayPart,
  { catalog, oldPrices, clientNames }: RepricingPrices,
): Promise<Map<string, RowFromCalls>> {
  const rows = new Map<string, RowFromCalls>()
  for await (const calls of readKeptCalls(session, scope, part)) {
    for (const call of calls) {
      const text = keyText(call.key)
      const row = rows.get(text) ?? emptyRow(call.key)
      rows.set(text, row)
      row.calls += 1n
      row.costPico += call.costPico ?? 0n
      const clientName = clientNames.get(call.key.clientId) ?? null
      const cost = repriceCall(catalog, { ...call, clientName }, oldPrices.get(call.key.priceId) ?? null)
      switch (cost.kind) {
        case 'as_metered':
          break
        case 'unknown_day':
          row.unknownDay += 1n
          break
        case 'cost':
          row.deltaPico += cost.costPico - (call.costPico ?? 0n)
          row.repriced += 1n
          if (cost.wasUnpriced) row.pricedCalls += 1n
          break
        case 'unknown':
          row.unknown.set(cost.reason, (row.unknown.get(cost.reason) ?? 0) + 1)
          break
        default:
          cost satisfies never
      }
    }
  }
  return rows
}

function emptyRow(key: DailyKey): RowFromCalls {
  return {
    key,
    calls: 0n,
    costPico: 0n,
    deltaPico: 0n,
    repriced: 0n,
    pricedCalls: 0n,
    unknownDay: 0n,
    unknown: new Map(),
  }
}
