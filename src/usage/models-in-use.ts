import type { UtcDay } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** A model by the name its calls are totalled under. */
export interface ModelInUse {
  readonly provider: string
  readonly upstream: string
  readonly model: string
}

/** The models that calls since `fromDay` used, by provider and name. */
export async function selectModelsInUse(pool: Postgres, fromDay: UtcDay): Promise<readonly ModelInUse[]> {
  const { rows } = await pool.query<ModelInUse>(
    `select distinct provider, upstream, model from ${SCHEMA}.daily_usage where day >= $1 order by 1, 3, 2`,
    [fromDay],
  )
  return rows
}
