import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** Calls of one model whose cost, by the word of its upstream and by our prices, is not the same. */
export interface CostDifference {
  readonly model: string
  readonly provider: string
  readonly upstream: string
  readonly calls: bigint
  /** As the upstream said it, without markups, and by our prices, with them; 1e-12 USD. */
  readonly reportedPico: bigint
  readonly ownPico: bigint
}

/** Of the single calls that are kept, from `fromDay` on; the largest differences first, at most 100. */
export async function selectCostDifferences(pool: Postgres, fromDay: UtcDay): Promise<CostDifference[]> {
  const { rows } = await pool.query<{
    model: string
    provider: string
    upstream: string
    calls: string
    reported: string
    own: string
  }>(
    `select model, provider, upstream, count(*) as calls, sum(reported_cost_pico) as reported,
       sum(own_cost_pico) as own
     from ${SCHEMA}.calls where cost_differs and day >= $1
     group by model, provider, upstream
     order by abs(sum(reported_cost_pico) - sum(own_cost_pico)) desc, model limit 100`,
    [fromDay],
  )
  return rows.map(({ model, provider, upstream, calls, reported, own }) => ({
    model,
    provider,
    upstream,
    calls: BigInt(calls),
    reportedPico: BigInt(reported),
    ownPico: BigInt(own),
  }))
}
