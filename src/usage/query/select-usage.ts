import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** What a usage summary may be broken down by. */
export type UsageGroup = 'day' | 'model' | 'key' | 'client'

export interface UsageQuery {
  /** `null`: every client. */
  readonly clientId: string | null
  /** First and last UTC day, YYYY-MM-DD, both included. */
  readonly fromDay: string
  readonly toDay: string
  /** Empty: one row over everything, also when there was nothing. */
  readonly groupBy: readonly UsageGroup[]
}

/** Exact sums over the days asked for. A grouping field is `null` when it was not asked for. */
export interface UsageRow {
  readonly day: string | null
  readonly model: string | null
  readonly keyId: string | null
  /** The key's label; `null` too when the key is no longer known. */
  readonly keyName: string | null
  readonly clientId: string | null
  readonly clientName: string | null
  readonly requests: bigint
  readonly reported: bigint
  readonly partial: bigint
  readonly estimated: bigint
  readonly withoutUsage: bigint
  readonly invalid: bigint
  /** Calls that have no price, nor were given one since; what they cost is in no sum. */
  readonly unpriced: bigint
  /** Calls whose cost is not all of it: something they used has no price. Only asked for with a grouping, else 0. */
  readonly partlyUnpriced: bigint
  /** The tokens of what has no price; only asked for with a grouping, else 0. */
  readonly unpricedInputTokens: bigint
  readonly unpricedOutputTokens: bigint
  readonly errors: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly cacheReadTokens: bigint
  readonly cacheWriteTokens: bigint
  readonly reasoningTokens: bigint
  /** The parts of input and output that were counted by us, not reported. */
  readonly estimatedInputTokens: bigint
  readonly estimatedOutputTokens: bigint
  /** Over `latencyCount` calls; their average is the quotient. */
  readonly latencyUsSum: bigint
  readonly latencyCount: bigint
  /** As metered plus corrections, 1e-12 USD. */
  readonly costPico: bigint
}

/** What each grouping adds to the select list; the aliases are what a row is read by. */
const GROUPS: Readonly<Record<UsageGroup, { readonly select: string; readonly by: string }>> = {
  day: { select: 'u.day as day', by: 'u.day' },
  model: { select: 'u.model as model', by: 'u.model' },
  key: { select: 'u.key_id as key_id, k.name as key_name', by: 'u.key_id, k.name' },
  client: { select: 'u.client_id as client_id, c.name as client_name', by: 'u.client_id, c.name' },
}

const SUMS = {
  requests: 'requests',
  reported: 'reported',
  partial: 'partial',
  estimated: 'estimated',
  withoutUsage: 'without_usage',
  invalid: 'invalid',
  errors: 'errors',
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  cacheReadTokens: 'cache_read_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  reasoningTokens: 'reasoning_tokens',
  estimatedInputTokens: 'estimated_input_tokens',
  estimatedOutputTokens: 'estimated_output_tokens',
  latencyUsSum: 'latency_us_sum',
  latencyCount: 'latency_count',
} as const

const SUM_LIST = [
  ...Object.values(SUMS).map((column) => `coalesce(sum(u.${column}), 0) as ${column}`),
  'coalesce(sum(u.unpriced - u.priced_later), 0) as unpriced',
  'coalesce(sum(u.cost_pico + u.adjusted_pico), 0) as cost_pico',
].join(', ')

/** Prices that leave something out say what. Of rows that a repricing has priced in part, nobody knows which tokens. */
const WITHOUT_WHOLE_PRICE = `coalesce(sum(u.input_tokens) filter (where u.unpriced > u.priced_later), 0) as unpriced_input_tokens,
  coalesce(sum(u.output_tokens) filter (where u.unpriced > u.priced_later), 0) as unpriced_output_tokens,
  coalesce(sum(u.requests + u.settlements) filter (where u.price_id in (
  select price_id from ${SCHEMA}.prices where definition ? 'unpriced')), 0) as partly_unpriced`

type SqlRow = { readonly [column: string]: string | null }

/**
 * The usage summary, from `daily_usage` alone. Rows come in the order of the groupings.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectUsageSummary(pool: Postgres, query: UsageQuery): Promise<UsageRow[]> {
  const groups = [...new Set(query.groupBy)].map((group) => GROUPS[group])
  const grouping = groups.map(({ by }) => by).join(', ')
  const { rows } = await pool.query<SqlRow>(
    `select ${[...groups.map(({ select }) => select), SUM_LIST, ...(groups.length > 0 ? [WITHOUT_WHOLE_PRICE] : [])].join(', ')}
     from ${SCHEMA}.daily_usage u
     ${query.groupBy.includes('key') ? `left join ${SCHEMA}.keys k on k.id = u.key_id` : ''}
     ${query.groupBy.includes('client') ? `left join ${SCHEMA}.clients c on c.id = u.client_id` : ''}
     where u.day between $1 and $2 and ($3::text is null or u.client_id = $3)
     ${groups.length > 0 ? `group by ${grouping} order by ${grouping}` : ''}`,
    [query.fromDay, query.toDay, query.clientId],
  )
  return rows.map(usageRowFrom)
}

function usageRowFrom(row: SqlRow): UsageRow {
  const sum = (column: string) => BigInt(row[column] ?? '0')
  return {
    day: row.day ?? null,
    model: row.model ?? null,
    keyId: row.key_id ?? null,
    keyName: row.key_name ?? null,
    clientId: row.client_id ?? null,
    clientName: row.client_name ?? null,
    requests: sum(SUMS.requests),
    reported: sum(SUMS.reported),
    partial: sum(SUMS.partial),
    estimated: sum(SUMS.estimated),
    withoutUsage: sum(SUMS.withoutUsage),
    invalid: sum(SUMS.invalid),
    unpriced: sum('unpriced'),
    partlyUnpriced: sum('partly_unpriced'),
    unpricedInputTokens: sum('unpriced_input_tokens'),
    unpricedOutputTokens: sum('unpriced_output_tokens'),
    errors: sum(SUMS.errors),
    inputTokens: sum(SUMS.inputTokens),
    outputTokens: sum(SUMS.outputTokens),
    cacheReadTokens: sum(SUMS.cacheReadTokens),
    cacheWriteTokens: sum(SUMS.cacheWriteTokens),
    reasoningTokens: sum(SUMS.reasoningTokens),
    estimatedInputTokens: sum(SUMS.estimatedInputTokens),
    estimatedOutputTokens: sum(SUMS.estimatedOutputTokens),
    latencyUsSum: sum(SUMS.latencyUsSum),
    latencyCount: sum(SUMS.latencyCount),
    costPico: sum('cost_pico'),
  }
}
