import type { Postgres, PostgresSession } from '../../../src/store/connection/postgres.ts'
import { GROUP_DIMENSIONS } from '../../../src/usage/dimensions.ts'
import type { GroupedScope } from '../../../src/usage/query/select-usage.ts'

/** What an answer must be: each figure as a sum over rows `u` of `daily_usage`, and of nothing else. */
const FIGURES = {
  requests: 'u.requests',
  inputTokens: 'u.input_tokens',
  outputTokens: 'u.output_tokens',
  latencyUsSum: 'u.latency_us_sum',
  latencyCount: 'u.latency_count',
  costPico: 'u.cost_pico + u.adjusted_pico',
  errors: 'u.errors',
  unpriced: 'u.unpriced - coalesce(u.priced_later, 0)',
  estimated: 'u.estimated',
  estimatedInputTokens: 'coalesce(u.estimated_input_tokens, 0)',
  estimatedOutputTokens: 'coalesce(u.estimated_output_tokens, 0)',
} as const

const OF_GROUPS = {
  unpricedInputTokens: 'case when u.unpriced > coalesce(u.priced_later, 0) then u.input_tokens else 0 end',
  unpricedOutputTokens: 'case when u.unpriced > coalesce(u.priced_later, 0) then u.output_tokens else 0 end',
  partlyUnpriced: `case when u.price_id in (select price_id from tallygate.prices where definition ? 'unpriced')
    then u.requests + coalesce(u.settlements, 0) else 0 end`,
} as const

/** The same rows as `selectUsageSummary`, from `daily_usage` alone. */
export async function selectPlainUsage(
  pool: Postgres | PostgresSession,
  { clientId, fromDay, toDay, groupBy }: GroupedScope,
): Promise<Readonly<Record<string, string | bigint | null>>[]> {
  const groups = groupBy.flatMap((name) => GROUP_DIMENSIONS.filter(({ group }) => group.name === name))
  const named = groups.flatMap(({ named }) => named ?? [])
  const selected = [
    ...groups.map(({ field, column }) => `u.${column} as "${field}"`),
    ...named.map(
      ({ table, field }) =>
        `(select name from tallygate.${table} n where n.id = u.${table.slice(0, -1)}_id) as "${field}"`,
    ),
  ]
  const sums = { ...FIGURES, ...(groups.length === 0 ? {} : OF_GROUPS) }
  const grouping = groups.map(({ column }) => `u.${column}`).join(', ')
  const { rows } = await pool.query<Record<string, string | null>>(
    `select ${[...selected, ...Object.entries(sums).map(([field, sum]) => `coalesce(sum(${sum}), 0) as "${field}"`)].join(', ')}
     from tallygate.daily_usage u where u.day between $1 and $2 and ($3::text is null or u.client_id = $3)
     ${groups.length === 0 ? '' : `group by ${grouping} order by ${grouping}`}`,
    [fromDay, toDay, clientId],
  )
  const none = Object.fromEntries(Object.keys(OF_GROUPS).map((field) => [field, '0']))
  const names = GROUP_DIMENSIONS.flatMap(({ field, named }) => [
    field,
    ...(named === undefined ? [] : [named.field]),
  ])
  return rows.map((row) => ({
    ...Object.fromEntries(names.map((name) => [name, row[name] ?? null])),
    ...Object.fromEntries(
      Object.entries({ ...none, ...row }).flatMap(([field, value]) =>
        names.some((name) => name === field) ? [] : [[field, BigInt(value ?? '0')]],
      ),
    ),
  }))
}
