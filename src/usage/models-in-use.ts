import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { buildSummaryStatement, selectSums } from './summaries/read-summaries.ts'

/** A model by the name its calls are totalled under. */
export interface ModelInUse {
  readonly provider: string
  readonly upstream: string
  readonly model: string
}

const STATEMENT = buildSummaryStatement({
  by: ['provider', 'model', 'upstream'],
  ofClient: false,
  columns: [],
  selected: ['u.provider', 'u.model', 'u.upstream'],
  orderBy: 'u.provider, u.model, u.upstream',
  isOpenEnded: true,
})

/** The models that calls since `fromDay` used, by provider and name. */
export async function selectModelsInUse(pool: Postgres, fromDay: UtcDay): Promise<readonly ModelInUse[]> {
  const rows = await selectSums(pool, STATEMENT, { fromDay, toDay: utcDayOf(Date.now()) }, null)
  return rows.map(({ provider, upstream, model }) => ({
    provider: provider ?? '',
    upstream: upstream ?? '',
    model: model ?? '',
  }))
}
