import type { UsageSums } from '../pricing/price-cost.ts'
import { DIMENSIONS, type DimensionField } from './dimensions.ts'
import {
  type AmountField,
  CORRECTIONS,
  type CorrectionField,
  type CountField,
  METRICS,
} from './metrics-table.ts'

type NumberField = CountField | AmountField | CorrectionField

/**
 * A row of `daily_usage`: what was metered, and apart from it what corrections added.
 */
export type DailyRow = Readonly<Record<DimensionField, string>> & Readonly<Record<NumberField, bigint>>

/** Numbers are text. */
type SqlRow = Readonly<Record<string, string | null>>

const NUMBERS = [...METRICS, ...CORRECTIONS]

/** The columns that `dailyRowFrom` reads. */
export const DAILY_COLUMNS: readonly string[] = [...DIMENSIONS, ...NUMBERS].map(({ column }) => column)

/** The whole row from these columns. */
export function dailyRowFrom(row: SqlRow): DailyRow {
  const values: Record<string, string | bigint> = {}
  for (const { field, column } of DIMENSIONS) values[field] = row[column] ?? ''
  for (const { field, column } of NUMBERS) values[field] = BigInt(row[column] ?? '0')
  return values as DailyRow
}

const CORRECTION_OF = new Map<string, (typeof CORRECTIONS)[number]>(CORRECTIONS.map((it) => [it.of, it]))

/** A metric with what corrections did to it. */
export function corrected(row: DailyRow, metric: CountField | AmountField): bigint {
  const correction = CORRECTION_OF.get(metric)
  if (correction === undefined) return row[metric]
  const { field, sign } = correction
  return sign === '+' ? row[metric] + row[field] : row[metric] - row[field]
}

const PRICED = METRICS.filter(({ kind }) => kind === 'tokens' || kind === 'units')

/** What a row's cost is computed from. */
export function sumsOfRow(row: DailyRow): UsageSums {
  const sums: Record<string, bigint> = { requests: row.requests + row.settlements }
  for (const { field } of PRICED) sums[field] = row[field]
  return sums as UsageSums
}

/**
 * The same of the columns of these. A settlement has its price's fee by the
 * request, though it is not a request.
 */
export function sumsFrom(row: SqlRow): UsageSums {
  const sums: Record<string, bigint> = {
    requests: BigInt(row.requests ?? '0') + BigInt(row.settlements ?? '0'),
  }
  for (const { field, column } of PRICED) sums[field] = BigInt(row[column] ?? '0')
  return sums as UsageSums
}
