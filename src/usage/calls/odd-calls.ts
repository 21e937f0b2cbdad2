import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** Kept calls that cost more than `CALL_ALERT_USD` did when they were made. */
export interface Suspects {
  readonly calls: bigint
  /** `null`: there is none. */
  readonly costliest: {
    readonly callId: string
    readonly model: string
    readonly upstream: string
    readonly costPico: bigint
  } | null
}

export async function selectSuspects(pool: Postgres, fromDay: UtcDay): Promise<Suspects> {
  const { rows } = await pool.query<{
    call_id: string
    model: string
    upstream: string
    cost_pico: string
    calls: string
  }>(
    `select call_id, model, upstream, cost_pico, count(*) over () as calls
     from ${SCHEMA}.calls where day >= $1 and suspect order by cost_pico desc limit 1`,
    [fromDay],
  )
  const [row] = rows
  if (row === undefined) return { calls: 0n, costliest: null }
  const { model, upstream } = row
  return {
    calls: BigInt(row.calls),
    costliest: { callId: row.call_id, model, upstream, costPico: BigInt(row.cost_pico) },
  }
}

/** An upstream of which it is not known where it serves, and the models whose price depends on that. */
interface UnknownPlace {
  readonly upstream: string
  readonly models: readonly string[]
  readonly calls: bigint
}

/** The condition that `price_id` is that of a usual place, in SQL. */
const IS_USUAL_PLACE = `price_id like '%place\\_unknown%' and price_id not like 'unpriced#%'`

/**
 * The upstreams whose calls since `fromDay` are at the price of the usual place for want of a better one. Totals are read
 * only where there ever was such a price.
 */
export async function selectUnknownPlaces(pool: Postgres, fromDay: UtcDay): Promise<readonly UnknownPlace[]> {
  const { rows } = await pool.query<{ upstream: string; models: string[]; calls: string }>(
    `select upstream, array_agg(distinct model order by model) as models, sum(requests)::text as calls
    from ${SCHEMA}.daily_usage
    where exists (select from ${SCHEMA}.prices where ${IS_USUAL_PLACE}) and day >= $1 and ${IS_USUAL_PLACE}
    group by upstream order by upstream`,
    [fromDay],
  )
  return rows.map(({ upstream, models, calls }) => ({ upstream, models, calls: BigInt(calls) }))
}
