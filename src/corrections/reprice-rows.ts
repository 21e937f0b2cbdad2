import { TOKEN_COLUMNS, UNIT_COLUMNS } from '../call/usage.ts'
import type { UsageSums } from '../pricing/price-cost.ts'
import type { RepricingScope } from '../pricing/repricing/repricing-scope.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { type DailyKey, type DailyKeyRow, KEY, keyFrom, keyIn, sameKey } from '../usage/daily-key.ts'
import { sumsFrom } from '../usage/daily-row.ts'
import { IS_USED } from '../usage/metrics-table.ts'

/** A row of `daily_usage` that a repricing looks at. */
export interface RowToReprice {
  readonly key: DailyKey
  readonly provider: string
  readonly unpriced: bigint
  readonly invalid: bigint
  readonly withoutFigures: bigint
  readonly sums: UsageSums
  /** As metered. */
  readonly costPico: bigint
  /** By all adjustments. */
  readonly adjustedPico: bigint
  /** By earlier repricings alone, credits by hand left out. */
  readonly repricedPico: bigint
  /** Calls that earlier repricings gave a cost. */
  readonly pricedLater: bigint
}

/** The condition that a row of `daily_usage` or `calls` is in the scope, with its parameters from `$1` on. */
export function scopeCondition(scope: RepricingScope): {
  readonly sql: string
  readonly parameters: string[]
} {
  const isPrefix = scope.model.endsWith('*')
  const model = isPrefix ? scope.model.slice(0, -1) : scope.model
  const byModel = isPrefix ? 'starts_with(model, $1)' : 'model = $1'
  if (scope.provider === null) return { sql: `${byModel} and day >= $2`, parameters: [model, scope.since] }
  return {
    sql: `${byModel} and day >= $2 and provider = $3`,
    parameters: [model, scope.since, scope.provider],
  }
}

const SUM_COLUMNS = [...TOKEN_COLUMNS, ...UNIT_COLUMNS]

type SqlRow = DailyKeyRow & { readonly provider: string } & { readonly [column: string]: string }

/** The rows with calls in the scope, in the order of their keys. */
export async function selectRowsToReprice(
  session: PostgresSession,
  scope: RepricingScope,
): Promise<RowToReprice[]> {
  const { sql, parameters } = scopeCondition(scope)
  const { rows } = await session.query<SqlRow>(
    `select u.*, coalesce(e.pico, 0) as repriced_pico from (
       select ${KEY}, provider, requests, settlements, unpriced, invalid, without_figures, ${SUM_COLUMNS.join(', ')},
         cost_pico, adjusted_pico, priced_later
       from ${SCHEMA}.daily_usage u where ${IS_USED} and ${sql}) u
     left join lateral (
       select sum(e.pico) as pico from ${SCHEMA}.adjustment_entries e
       join ${SCHEMA}.adjustments a on a.id = e.adjustment_id and a.kind = 'reprice'
       where ${sameKey('e', 'u')}) e on true
     order by ${keyIn('u')}`,
    parameters,
  )
  return rows.map((row) => ({
    key: keyFrom(row),
    provider: row.provider,
    unpriced: count(row, 'unpriced'),
    invalid: count(row, 'invalid'),
    withoutFigures: count(row, 'without_figures'),
    sums: sumsFrom(row),
    costPico: count(row, 'cost_pico'),
    adjustedPico: count(row, 'adjusted_pico'),
    repricedPico: count(row, 'repriced_pico'),
    pricedLater: count(row, 'priced_later'),
  }))
}

function count(row: Readonly<Record<string, string | null>>, column: string): bigint {
  return BigInt(row[column] ?? '0')
}
