import { findClient } from '../../../src/keys/clients.ts'
import { selectKeyPage } from '../../../src/keys/keys.ts'
import type { Postgres } from '../../../src/store/connection/postgres.ts'

/** Adds a row of totals under a client's first key. Figures are columns of `daily_usage`; what is left out is 0. */
export async function addDailyUsage(
  pool: Postgres,
  client: string,
  day: string,
  model: string,
  figures: Readonly<Record<string, number | string>>,
): Promise<void> {
  const { rows } = await pool.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'daily_usage' and column_default is null`,
  )
  const values = new Map<string, unknown>([
    ['day', day],
    ['client_id', (await findClient(pool, client))?.id],
    ['key_id', (await selectKeyPage(pool, client))?.items[0]?.id],
    ['model', model],
    ['upstream', 'default'],
    ['provider', 'openai'],
    ...Object.entries(figures),
  ])
  await pool.query('select tallygate.add_usage_months($1)', [[day]])
  await pool.query(
    `insert into tallygate.daily_usage (${rows.map(({ name }) => name).join(', ')})
     values (${rows.map((_row, index) => `$${index + 1}`).join(', ')})`,
    rows.map(({ name, type }) => values.get(name) ?? (type === 'ARRAY' ? [] : 0)),
  )
}
