import type { UtcDay } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { IS_USED } from './metrics-table.ts'

/** Our own figures of one model on one day. */
export interface ModelDayUse {
  readonly day: UtcDay
  readonly model: string
  readonly requests: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  /** Metered and repriced; credits to clients by hand are between us and them. */
  readonly costPico: bigint
}

/** What went to a provider, in all or (`upstream`) by one of its upstreams. Days are UTC, both included. */
export async function selectModelDays(
  pool: Postgres,
  query: {
    readonly provider: string
    readonly upstream: string | null
    readonly from: UtcDay
    readonly to: UtcDay
  },
): Promise<ModelDayUse[]> {
  const { rows } = await pool.query<
    Record<'day' | 'model' | 'requests' | 'input' | 'output' | 'cost', string>
  >(
    `select day, model, sum(requests) as requests, sum(input_tokens) as input, sum(output_tokens) as output,
       sum(cost_pico + adjusted_pico) as cost
     from ${SCHEMA}.daily_usage u
     where provider = $1 and ($2::text is null or upstream = $2) and day between $3 and $4 and ${IS_USED}
     group by day, model order by day, model`,
    [query.provider, query.upstream, query.from, query.to],
  )
  return rows.map((row) => ({
    day: row.day,
    model: row.model,
    requests: BigInt(row.requests),
    inputTokens: BigInt(row.input),
    outputTokens: BigInt(row.output),
    costPico: BigInt(row.cost),
  }))
}
