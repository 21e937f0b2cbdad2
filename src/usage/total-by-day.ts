import { OTHER_VALUES, parseAxes } from '../call/axes.ts'
import type { CallRecord, CountedCall } from '../call/call-record.ts'
import { BILLED_UNITS, NO_UNITS, NO_USAGE, TOKEN_CLASSES } from '../call/usage.ts'
import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import { type DailyKey, keyOf, keyTextOf, type SettledCall, type TotalledCall } from './daily-key.ts'
import { addLatency, type BucketCounts, noLatencies } from './days/daily-latency.ts'
import { KEY_DIMENSIONS } from './dimensions.ts'
import { type AmountField, type CountField, METRICS } from './metrics-table.ts'

/** At most so many model names are totalled apart for one client and day: names come from outside. */
export const MODELS_PER_CLIENT_AND_DAY = 500
/** What every model beyond them is totalled under: in parentheses, as no model is named so. */
export const OTHER_MODELS_TOTAL = '(other)'

/**
 * Most records in one total: so many counts of at most `MAX_COUNT` (2^40) still add up to a safe integer, and
 * need no bigints.
 */
export const MAX_TOTALLED = 4096

type DailySums = Record<CountField, number> & Record<AmountField, bigint>

/** What some calls of one row add to `daily_usage`, and to `daily_latency`. */
export interface DailyTotal extends DailyKey, DailySums {
  readonly provider: string
  readonly latencyBuckets: BucketCounts
  readonly firstByteBuckets: BucketCounts
}

/**
 * Totals records in the order of the rows' keys: transactions that update rows in one order
 * cannot wait for each other in a circle.
 *
 * @param settled Calls that were counted as unpriced, now or before, until their jobs reported what they
 * used.
 * @returns What is added by one statement, and by a next one: each key once in each, and all keys in the first. A
 * row has a further total for each `MAX_TOTALLED` of its records.
 */
export function totalByDay(
  records: readonly CountedCall[],
  settled: readonly SettledCall[] = [],
): DailyTotal[][] {
  const totals = new Totals<DailyTotal>()
  const totalOf = (call: TotalledCall): DailyTotal =>
    totals.of(keyTextOf(call), () => ({
      ...EMPTY,
      ...keyOf(call),
      provider: call.provider,
      latencyBuckets: noLatencies(),
      firstByteBuckets: noLatencies(),
    }))
  for (const record of records) {
    const total = totalOf(record)
    addCall(total, record)
    addLatency(total.latencyBuckets, total.firstByteBuckets, record)
  }
  for (const call of settled) takeSettled(totalOf({ ...call, priceId: null }))
  return totals.statements()
}

/** What is added by statements, so that each row comes once in each of them. */
class Totals<Total extends DailySums> {
  readonly #totals = new Map<string, Total>()
  readonly #full: [text: string, total: Total][] = []

  /** The total of the row with this name, with room for another call. */
  of(text: string, begin: () => Total): Total {
    let total = this.#totals.get(text)
    if (total !== undefined && total.requests + total.settlements >= MAX_TOTALLED) {
      this.#full.push([text, total])
      total = undefined
    }
    if (total === undefined) {
      total = begin()
      this.#totals.set(text, total)
    }
    return total
  }

  /** In the order of the names. */
  statements(): Total[][] {
    const statements = [[...this.#totals]]
    const before = new Map<string, number>()
    for (const each of this.#full) {
      const place = (before.get(each[0]) ?? 0) + 1
      before.set(each[0], place)
      statements[place] = [...(statements[place] ?? []), each]
    }
    return statements.map((some) =>
      some.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)).map(([, total]) => total),
    )
  }
}

/** What names a row of `axis_usage`. */
export interface AxisKey {
  readonly day: UtcDay
  readonly clientId: string
  readonly axis: string
  /** `(other)` for those beyond a day's values. */
  readonly value: string
}

/** What some calls with one value add to `axis_usage`. */
export interface AxisTotal extends AxisKey, DailySums {}

/** As {@link totalByDay}, by each value that calls have on axes with totals. Calls without one are in no total. */
export function totalByAxis(
  records: readonly CountedCall[],
  settled: readonly SettledCall[] = [],
): AxisTotal[][] {
  const totals = new Totals<AxisTotal>()
  const totalsOf = (call: Pick<CountedCall, 'arrivedAtMs' | 'clientId' | 'axes'>): readonly AxisTotal[] =>
    axisKeysOf(call).map((key) =>
      totals.of(`${key.clientId}\0${key.axis}\0${key.day}\0${key.value}`, () => ({ ...EMPTY, ...key })),
    )
  for (const record of records) {
    if (record.axes !== undefined) for (const total of totalsOf(record)) addCall(total, record)
  }
  for (const call of settled) for (const total of totalsOf(call)) takeSettled(total)
  return totals.statements()
}

/** The rows of `axis_usage` that a call is totalled in, one for each of its axes with totals. */
export function axisKeysOf({
  arrivedAtMs,
  clientId,
  axes,
}: Pick<CountedCall, 'arrivedAtMs' | 'clientId' | 'axes'>): readonly AxisKey[] {
  const day = utcDayOf(arrivedAtMs)
  return parseAxes(axes).flatMap(({ axis, value, totals }) =>
    totals === 'call' ? [] : [{ day, clientId, axis, value: totals === 'other' ? OTHER_VALUES : value }],
  )
}

const CALLS = METRICS.filter((metric) => metric.kind === 'calls')
const ESTIMATED = METRICS.filter((metric) => metric.kind === 'estimated')
const AMOUNTS = METRICS.filter((metric) => metric.kind === 'amount')
const BYTES = METRICS.filter((metric) => metric.kind === 'bytes')
const UNTIL_SETTLED = CALLS.filter(({ untilSettled }) => untilSettled)

/**
 * Copied for each total. Written as JSON first: an object that is filled field by field under computed names becomes a
 * hash table, which costs five times as much to copy and to add to.
 */
const EMPTY = emptyTotal()

function emptyTotal(): DailyTotal {
  const names = [...KEY_DIMENSIONS, ...METRICS].map(({ field }) => `"${field}":0`)
  const total: Record<string, string | number | bigint> = JSON.parse(`{${names.join(',')}}`)
  for (const { field } of KEY_DIMENSIONS) total[field] = ''
  for (const { field } of AMOUNTS) total[field] = 0n
  const sums = total as DailyKey & DailySums
  return { ...sums, provider: '', latencyBuckets: [], firstByteBuckets: [] }
}

/** Runs for every call: what it does not have costs next to nothing. */
function addCall(total: DailySums, call: CountedCall): void {
  const { usage, units } = call
  for (const { field, of } of CALLS) if (of(call)) total[field] += 1
  if (usage !== NO_USAGE) {
    for (const name of TOKEN_CLASSES) if (usage[name] !== null) total[name] += usage[name]
  }
  if (units !== NO_UNITS) {
    for (const name of BILLED_UNITS) if (units[name] !== null) total[name] += units[name]
  }
  if (call.usageSource === 'estimated') for (const { field, of } of ESTIMATED) total[field] += usage[of] ?? 0
  if (call.requestBytes !== undefined) for (const { field } of BYTES) total[field] += call[field] ?? 0
  for (const { field, of } of AMOUNTS) total[field] += of(call)
}

function takeSettled(total: DailySums): void {
  for (const { field } of UNTIL_SETTLED) total[field] -= 1
}

/**
 * The record as it counts when its response's usage was counted before: a request, without tokens or cost.
 */
export function withoutUsage(record: CallRecord): CallRecord {
  return {
    ...record,
    usageSource: 'none',
    usage: NO_USAGE,
    units: NO_UNITS,
    costPico: '0',
    priceId: null,
    unpricedReason: undefined,
    reportedCostPico: undefined,
    ownCostPico: undefined,
    costDiffers: undefined,
    partlyUnpriced: undefined,
    suspect: undefined,
  }
}
