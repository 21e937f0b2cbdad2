import type { UtcDay } from '../domain/utc-day.ts'
import { SCHEMA } from './migrate.ts'
import type { Postgres } from './postgres.ts'

/** Calls without a price, of one model at one upstream. */
export interface UnpricedUse {
  readonly model: string
  readonly provider: string
  readonly upstream: string
  readonly calls: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly firstDay: UtcDay
  readonly lastDay: UtcDay
}

/** What has no price, nor was given one since, from `fromDay` on; those with most calls first, at most 1,000. */
export async function selectUnpricedUse(pool: Postgres, fromDay: UtcDay): Promise<UnpricedUse[]> {
  const { rows } = await pool.query<{
    model: string
    provider: string
    upstream: string
    calls: string
    input_tokens: string
    output_tokens: string
    first_day: string
    last_day: string
  }>(
    `select model, provider, upstream, sum(unpriced - priced_later) as calls,
       sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
       min(day) as first_day, max(day) as last_day
     from ${SCHEMA}.daily_usage
     where day >= $1 and unpriced > priced_later
     group by model, provider, upstream order by calls desc, model, upstream limit 1000`,
    [fromDay],
  )
  return rows.map((row) => ({
    model: row.model,
    provider: row.provider,
    upstream: row.upstream,
    calls: BigInt(row.calls),
    inputTokens: BigInt(row.input_tokens),
    outputTokens: BigInt(row.output_tokens),
    firstDay: row.first_day,
    lastDay: row.last_day,
  }))
}
