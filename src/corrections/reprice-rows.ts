import { TOKEN_COLUMNS, UNIT_COLUMNS } from '../call/usage.ts'
import type { UtcDay } from '../domain/utc-day.ts'
import { clientsBelow } from '../keys/groups/group-spans.ts'
import type { ListedLine } from '../pricing/contracts/three-costs.ts'
import type { UsageSums } from '../pricing/price-cost.ts'
import type { RepricingScope } from '../pricing/repricing/repricing-scope.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { queryLong } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import {
  type DayPart,
  inPart,
  type PartSize,
  partParameters,
  splitDay,
} from '../usage/calls/call-partitions.ts'
import { linesFrom, type StoredLine } from '../usage/costs/operator-costs.ts'
import { type DailyKey, type DailyKeyRow, KEY, keyFrom, keyIn, sameKey } from '../usage/daily-key.ts'
import { sumsFrom } from '../usage/daily-row.ts'
import { selectUsageDays } from '../usage/days/usage-days.ts'
import { IS_USED, USES } from '../usage/metrics-table.ts'

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
  /** What these added at list prices. */
  readonly repricedLines: readonly ListedLine[]
  /** Calls that earlier repricings gave a cost. */
  readonly pricedLater: bigint
}

/** Rows and calls that are looked at: those of a repricing, or fewer. */
export interface RowScope extends RepricingScope {
  /** The last UTC day. */
  readonly until?: UtcDay | undefined
  readonly clientId?: string | undefined
  readonly keyId?: string | undefined
  readonly upstream?: string | undefined
  /** Clients on the days that they were in this group or below it. */
  readonly groupId?: string | undefined
}

/**
 * The condition that a row `alias` of `daily_usage` or `calls` is in the scope.
 *
 * @param first The number of its first parameter.
 */
export function scopeCondition(
  scope: RowScope,
  first: number,
  alias: 'c' | 'u',
): {
  readonly sql: string
  readonly parameters: string[]
} {
  const isPrefix = scope.model.endsWith('*')
  const parameters = [isPrefix ? scope.model.slice(0, -1) : scope.model]
  const conditions = [isPrefix ? `starts_with(${alias}.model, $${first})` : `${alias}.model = $${first}`]
  const add = (value: string | null | undefined, condition: (parameter: string) => string) => {
    if (value == null) return
    parameters.push(value)
    conditions.push(condition(`$${first + parameters.length - 1}`))
  }
  add(scope.provider, (name) => `${alias}.provider = ${name}`)
  add(scope.clientId, (id) => `${alias}.client_id = ${id}`)
  add(scope.keyId, (id) => `${alias}.key_id = ${id}`)
  add(scope.upstream, (name) => `${alias}.upstream = ${name}`)
  add(
    scope.groupId,
    (id) => `exists (select 1 from (${clientsBelow(id)}) m
      where m.client_id = ${alias}.client_id and ${alias}.day between m.from_day and m.to_day)`,
  )
  return { sql: conditions.join(' and '), parameters }
}

/** The parts of all days that the scope has rows on, the days rising. */
export async function selectPartsInScope(
  pool: Postgres,
  scope: RowScope,
  size: PartSize,
): Promise<readonly DayPart[]> {
  const { sql, parameters } = scopeCondition(scope, 2, 'u')
  const parts: DayPart[] = []
  for (const day of await selectUsageDays(pool, scope.since, scope.until ?? LAST_DAY)) {
    const { rows } = await pool.query<{ calls: string; rows: string }>(
      `select coalesce(sum(${USES}), 0) as calls, count(*) as rows
       from ${SCHEMA}.daily_usage u where day = $1 and ${IS_USED} and ${sql}`,
      [day, ...parameters],
    )
    const { calls = '0', rows: count = '0' } = rows[0] ?? {}
    if (count !== '0') parts.push(...splitDay(day, { calls: BigInt(calls), rows: BigInt(count) }, size))
  }
  return parts
}

const LAST_DAY = '9999-12-31'

const SUM_COLUMNS = [...TOKEN_COLUMNS, ...UNIT_COLUMNS]

type SqlRow = DailyKeyRow & { readonly provider: string } & { readonly [column: string]: string }

/** The rows of a part with calls in the scope, in the order of their keys. */
export async function selectRowsToReprice(
  session: PostgresSession,
  scope: RowScope,
  part: DayPart,
): Promise<RowToReprice[]> {
  const { sql, parameters } = scopeCondition(scope, 4, 'u')
  const { rows } = await queryLong<SqlRow>(
    session,
    `select u.*, coalesce(e.pico, 0) as repriced_pico, e.lines from (
       select ${KEY}, provider, requests, settlements, unpriced, invalid, without_figures, ${SUM_COLUMNS.join(', ')},
         cost_pico, adjusted_pico, priced_later
       from ${SCHEMA}.daily_usage u where ${inPart('u')} and ${IS_USED} and ${sql}) u
     left join lateral (
       select sum(e.pico) as pico, coalesce(json_agg(e.lines) filter (where e.lines is not null), '[]')::text as lines
       from ${SCHEMA}.adjustment_entries e join ${SCHEMA}.adjustments a on a.id = e.adjustment_id and a.kind = 'reprice'
       where ${sameKey('e', 'u')}) e on true
     order by ${keyIn('u')}`,
    [...partParameters(part), ...parameters],
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
    repricedLines: (JSON.parse(row.lines ?? '[]') as (readonly StoredLine[])[]).flatMap(linesFrom),
    pricedLater: count(row, 'priced_later'),
  }))
}

function count(row: Readonly<Record<string, string | null>>, column: string): bigint {
  return BigInt(row[column] ?? '0')
}
