import { BILLED_UNITS, TOKEN_CLASSES, TOKEN_COLUMNS, UNIT_COLUMNS } from '../call/usage.ts'
import type { UsageSums } from '../pricing/price-cost.ts'

const SUM_COLUMNS = [...TOKEN_COLUMNS, ...UNIT_COLUMNS]

/** The sums of a row of `daily_usage`. What a job used has its price's fee by the request, though it is no request. */
export function sumsFrom(row: Readonly<Record<string, string | null>>): UsageSums {
  const names = [...TOKEN_CLASSES, ...BILLED_UNITS]
  const sums: Record<string, bigint> = {
    requests: count(row, 'requests') + count(row, 'settlements'),
  }
  for (const [index, name] of names.entries()) sums[name] = count(row, SUM_COLUMNS[index] ?? '')
  return sums as UsageSums
}

function count(row: Readonly<Record<string, string | null>>, column: string): bigint {
  return BigInt(row[column] ?? '0')
}
