import type { UtcDay } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'

/** An upstream of which it is not known where it serves, and the models whose price depends on that. */
export interface UnknownPlace {
  readonly upstream: string
  readonly models: readonly string[]
  readonly calls: bigint
}

/** The upstreams whose calls since `fromDay` are at the price of the usual place for want of a better one. */
export async function selectUnknownPlaces(pool: Postgres, fromDay: UtcDay): Promise<readonly UnknownPlace[]> {
  const { rows } = await pool.query<{ upstream: string; models: string[]; calls: string }>(
    `select upstream, array_agg(distinct model order by model) as models, sum(requests)::text as calls
    from daily_usage
    where day >= $1 and price_id like '%place\\_unknown%' and price_id not like 'unpriced#%'
    group by upstream order by upstream`,
    [fromDay],
  )
  return rows.map(({ upstream, models, calls }) => ({ upstream, models, calls: BigInt(calls) }))
}
