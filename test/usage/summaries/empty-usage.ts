import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { ALL_TABLES } from '../../../src/usage/summaries/summary-tables.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'

/** Empties the totals and all that is derived from them. */
export async function emptyUsage(pool: Postgres): Promise<void> {
  const tables = [
    'daily_usage',
    'daily_latency',
    'summarised_days',
    'summarised_months',
    'usage_days_unpriced',
    'adjustment_entries',
    ...ALL_TABLES.flatMap(({ days, months }) => [days ?? [], months].flat()),
  ]
  await emptyTables(pool, tables)
}
