import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'
import { selectProcesses } from './processes-table.ts'

/**
 * The gateways and workers of this database that run, each in words: those that said so within 45 s, and those that are
 * connected. Works on a database of any release, and on one without a schema.
 *
 * @throws When Postgres is away.
 */
export async function selectRunning(pool: Postgres): Promise<readonly string[]> {
  const known = await pool.query<{ present: boolean }>(
    `select to_regclass('${SCHEMA}.processes') is not null as present`,
  )
  const said = known.rows[0]?.present === true ? await selectProcesses(pool) : []
  if (said.length > 0) return said.map(({ kind, process }) => `${kind} ${process}`)
  const { rows } = await pool.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
     where datname = current_database() and application_name in ('tallygate gateway', 'tallygate worker') order by 1`,
  )
  return rows.map(({ name }) => `a ${name}`)
}
