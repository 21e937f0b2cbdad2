import { readdir } from 'node:fs/promises'
import type { Postgres } from './postgres.ts'
import { SCHEMA } from './schema.ts'

/**
 * The migrations of this release that the database lacks, in order.
 *
 * @throws When Postgres is away.
 */
export async function selectPendingMigrations(pool: Postgres): Promise<readonly string[]> {
  const files = await readdir(new URL('../migrations', import.meta.url))
  const names = files.filter((file) => file.endsWith('.sql')).map((file) => file.replace(/\.sql$/, ''))
  const known = await pool.query<{ present: boolean }>(
    `select to_regclass('${SCHEMA}.migrations') is not null as present`,
  )
  if (known.rows[0]?.present !== true) return names.sort()
  const { rows } = await pool.query<{ name: string }>(`select name from ${SCHEMA}.migrations`)
  const applied = new Set(rows.map(({ name }) => name))
  return names.filter((name) => !applied.has(name)).sort()
}
