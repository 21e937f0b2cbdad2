import type { Catalog } from '../pricing/catalog/catalog.ts'
import type { Price } from '../pricing/price.ts'
import { sumsOfCall } from '../pricing/price-cost.ts'
import { type PastCall, repriceCall } from '../pricing/repricing/repricing.ts'
import type { RepricingScope } from '../pricing/repricing/repricing-scope.ts'
import { type PostgresSession, queryLong } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { columnsOf, fieldsFrom, type StoredField } from '../usage/calls/call-columns.ts'
import { type DayPart, inPart, partParameters } from '../usage/calls/call-partitions.ts'
import { type BilledUse, ListedSums } from '../usage/costs/operator-costs.ts'
import { type CallKeyRow, type DailyKey, KEY_COLUMNS, keyFrom, keyText } from '../usage/daily-key.ts'
import { type RowScope, scopeCondition } from './reprice-rows.ts'
import { ValueSums, valuesOf } from './value-entries.ts'

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
  /** The same difference and calls by the values of calls on their client's axes. */
  readonly byValue: ValueSums
  /** The same at list prices. */
  readonly listed: ListedSums
}

/** What a repricing looks prices up by. */
export interface RepricingPrices {
  readonly catalog: Catalog
  readonly oldPrices: ReadonlyMap<string, Price>
  readonly clientNames: ReadonlyMap<string, string>
  /** The axes with totals of each client. */
  readonly clientAxes: ReadonlyMap<string, readonly string[]>
}

/** A call as kept, and the row it was totalled in. */
export interface KeptCall extends Omit<PastCall, 'clientName'> {
  readonly key: DailyKey
  readonly axes?: string | undefined
}

/** Calls read at a time: some ten megabytes at most. */
const PAGE = 5_000

const FIELDS = [
  'arrivedAtMs',
  'upstream',
  'provider',
  'requestedModel',
  'reportedModel',
  'usageSource',
  'usage',
  'units',
  'usageRaw',
  'priceId',
  'axes',
] as const satisfies readonly StoredField[]

type SqlRow = CallKeyRow & {
  readonly call_id: string
  readonly cost_pico: string | null
  readonly unpriced_reason: string | null
  readonly told_by: string | null
}

const COLUMNS = [
  ...new Set([
    'call_id',
    ...KEY_COLUMNS,
    ...columnsOf(FIELDS).split(', '),
    'cost_pico',
    'unpriced_reason',
    'told_by',
  ]),
]

/** The calls of a part of a day that are in the scope, a page at a time. */
export async function* readKeptCalls(
  session: PostgresSession,
  scope: RowScope,
  part: DayPart,
): AsyncGenerator<KeptCall[]> {
  const { sql, parameters } = scopeCondition(scope, 4, 'c')
  const next = parameters.length + 4
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const { rows } = await queryLong<SqlRow>(
      session,
      `select ${COLUMNS.join(', ')}
       from ${SCHEMA}.calls c where ${inPart('c')} and ${sql} and call_id > $${next}
       order by call_id limit ${PAGE}`,
      [...partParameters(part), ...parameters, after],
    )
    if (rows.length > 0) yield rows.map(keptCallFrom)
    if (rows.length < PAGE) return
    after = rows.at(-1)?.call_id ?? after
  }
}

function keptCallFrom(row: SqlRow): KeptCall {
  return {
    key: keyFrom(row),
    ...fieldsFrom(row, FIELDS),
    costPico: row.cost_pico === null ? null : BigInt(row.cost_pico),
    unpricedReason: row.unpriced_reason,
    isSettlement: row.told_by !== null,
  }
}

/** Prices the kept calls of a part of a day again, and adds them up by their rows; by `keyText`. */
export async function repriceCalls(
  session: PostgresSession,
  scope: RepricingScope,
  part: DayPart,
  { catalog, oldPrices, clientNames, clientAxes }: RepricingPrices,
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
          row.listed.replace(...replacedUse(call, oldPrices.get(call.key.priceId) ?? null, cost))
          row.byValue.add(valuesOf(call.axes, clientAxes.get(call.key.clientId)), {
            pico: cost.costPico - (call.costPico ?? 0n),
            pricedCalls: cost.wasUnpriced ? 1n : 0n,
          })
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
    byValue: new ValueSums(),
    listed: new ListedSums(),
  }
}

/** What a call used, at its price before and at the new one. */
export function replacedUse(
  { costPico, usage, units }: Pick<PastCall, 'costPico' | 'usage' | 'units'>,
  price: Price | null,
  now: { readonly costPico: bigint; readonly price: Price },
): readonly [BilledUse, BilledUse] {
  const sums = sumsOfCall(usage, units)
  return [
    { costPico: costPico ?? 0n, sums, price },
    { ...now, sums },
  ]
}
