import type { CallRecord } from '../call/call-record.ts'
import type { CountedCall, SettledCall } from '../call/settlement.ts'
import { reportedNoFigures } from '../call/unpriced-reason.ts'
import { BILLED_UNITS, NO_UNITS, NO_USAGE, TOKEN_CLASSES } from '../call/usage.ts'
import { LATENCY_BUCKETS, latencyBucketOf } from '../domain/latency.ts'
import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'

/** At most so many model names are totalled apart for one client and day: names come from outside. */
export const MODELS_PER_CLIENT_AND_DAY = 500
/** What every model beyond them is totalled under. */
export const OTHER_MODEL = '(other)'

/**
 * Most records that are totalled at a time: so many counts of at most `MAX_COUNT` (2^40) still add up to a safe
 * integer, and need no bigints.
 */
export const MAX_TOTALLED = 4096

/** What some calls of one day, client, key, model, upstream and price add to `daily_usage`. */
export interface DailyTotal {
  readonly day: UtcDay
  readonly clientId: string
  readonly keyId: string
  readonly model: string
  readonly upstream: string
  /** '' for calls that are unpriced or had nothing to price. */
  readonly priceId: string
  readonly provider: string
  requests: number
  /** What calls told of the work of others: no requests. */
  settlements: number
  reported: number
  partial: number
  estimated: number
  withoutUsage: number
  invalid: number
  unpriced: number
  /** Of `unpriced`, calls that reported no figures. */
  withoutFigures: number
  errors: number
  /** In the order of `TOKEN_CLASSES`. */
  readonly tokens: number[]
  /** In the order of `BILLED_UNITS`. */
  readonly units: number[]
  estimatedInputTokens: number
  estimatedOutputTokens: number
  latencyUsSum: bigint
  latencyCount: number
  /** `LATENCY_BUCKETS` counts. */
  readonly latencyBuckets: number[]
  costPico: bigint
}

/**
 * Totals records, in the order of `daily_usage`'s primary key: whoever updates rows in that order cannot block
 * another who does.
 *
 * @param records At most `MAX_TOTALLED`.
 * @param settled Calls that are in the totals already, or among `records`, as unpriced, and are so no longer.
 */
export function totalByDay(
  records: readonly CountedCall[],
  settled: readonly SettledCall[] = [],
): DailyTotal[] {
  if (records.length > MAX_TOTALLED) throw new RangeError(`more than ${MAX_TOTALLED} records at a time`)
  const totals = new Map<string, DailyTotal>()
  const totalOf = (row: RowOfTotals, priceId: string): DailyTotal => {
    const day = utcDayOf(row.arrivedAtMs)
    const { clientId, keyId, model, upstream } = row
    const key = `${clientId}\0${day}\0${keyId}\0${model}\0${upstream}\0${priceId}`
    let total = totals.get(key)
    if (total === undefined) {
      total = emptyTotal(row, day, priceId)
      totals.set(key, total)
    }
    return total
  }
  for (const record of records) addRecord(totalOf(record, record.priceId ?? ''), record)
  for (const call of settled) {
    const total = totalOf(call, '')
    total.unpriced -= 1
    total.withoutFigures -= 1
  }
  return [...totals]
    .sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
    .map(([, total]) => total)
}

/** Whether a call counts as failed: by its upstream, its status, or its body. */
export function isError(record: CallRecord): boolean {
  return record.outcome === 'upstream_error' || record.failedInBody || (record.status ?? 0) >= 400
}

/** The record as it counts when its response's usage was counted before: a request, without tokens or cost. */
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

type RowOfTotals = Omit<SettledCall, 'callId'>

function emptyTotal(record: RowOfTotals, day: UtcDay, priceId: string): DailyTotal {
  return {
    day,
    clientId: record.clientId,
    keyId: record.keyId,
    model: record.model,
    upstream: record.upstream,
    priceId,
    provider: record.provider,
    requests: 0,
    settlements: 0,
    reported: 0,
    partial: 0,
    estimated: 0,
    withoutUsage: 0,
    invalid: 0,
    unpriced: 0,
    withoutFigures: 0,
    errors: 0,
    tokens: new Array<number>(TOKEN_CLASSES.length).fill(0),
    units: new Array<number>(BILLED_UNITS.length).fill(0),
    estimatedInputTokens: 0,
    estimatedOutputTokens: 0,
    latencyUsSum: 0n,
    latencyCount: 0,
    latencyBuckets: new Array<number>(LATENCY_BUCKETS).fill(0),
    costPico: 0n,
  }
}

function addRecord(total: DailyTotal, record: CountedCall): void {
  if (record.settlement === undefined) total.requests += 1
  else total.settlements += 1
  switch (record.usageSource) {
    case 'reported':
      total.reported += 1
      break
    case 'partial':
      total.partial += 1
      break
    case 'estimated':
      total.estimated += 1
      total.estimatedInputTokens += record.usage.inputTokens ?? 0
      total.estimatedOutputTokens += record.usage.outputTokens ?? 0
      break
    case 'none':
      total.withoutUsage += 1
      break
    case 'invalid':
      total.invalid += 1
      break
    default:
      record.usageSource satisfies never
  }
  if (isError(record)) total.errors += 1
  if (record.usage !== NO_USAGE) {
    for (const [index, name] of TOKEN_CLASSES.entries()) add(total.tokens, index, record.usage[name] ?? 0)
  }
  if (record.units !== NO_UNITS) {
    for (const [index, name] of BILLED_UNITS.entries()) add(total.units, index, record.units[name] ?? 0)
  }
  if (record.latencyUs !== null && !record.webSocket) {
    total.latencyUsSum += BigInt(record.latencyUs)
    total.latencyCount += 1
    add(total.latencyBuckets, latencyBucketOf(record.latencyUs), 1)
  }
  if (record.costPico === null) {
    total.unpriced += 1
    if (reportedNoFigures(record.unpricedReason)) total.withoutFigures += 1
  } else total.costPico += BigInt(record.costPico)
}

function add(sums: number[], index: number, count: number): void {
  sums[index] = (sums[index] ?? 0) + count
}
