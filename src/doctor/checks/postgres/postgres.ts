import { selectPendingMigrations } from '../../../store/connection/migrate.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { isOutOfConnections, OUT_OF_CONNECTIONS } from '../../../store/connection/postgres.ts'
import { reasonOf } from '../../explain-error.ts'
import { type Finding, failure, ok } from '../../finding.ts'

/** The first release that supports everything the migrations use. */
const OLDEST_MAJOR = 14

/** Checks that Postgres answers, its version and its role. */
export async function checkPostgres(pool: Postgres): Promise<Finding> {
  try {
    const startedAtMs = performance.now()
    const { rows } = await pool.query<{ server_version: string }>('show server_version')
    const version = rows[0]?.server_version ?? ''
    const answer = `PostgreSQL ${version} answers in ${Math.ceil(performance.now() - startedAtMs)} ms`
    if (Number.parseInt(version, 10) >= OLDEST_MAJOR) return ok('postgres', answer)
    return failure('postgres', answer, `use PostgreSQL ${OLDEST_MAJOR} or newer`)
  } catch (error) {
    if (isOutOfConnections(error))
      return failure('postgres', `refuses: ${reasonOf(error)}`, OUT_OF_CONNECTIONS)
    return failure('postgres', `not reachable: ${reasonOf(error)}`, 'start it, or correct DATABASE_URL')
  }
}

/** Checks that all migrations of this release are applied. */
export async function checkMigrations(pool: Postgres): Promise<Finding> {
  const pending = await selectPendingMigrations(pool)
  if (pending.length === 0) return ok('migrations', 'the database is up to date')
  return failure('migrations', `the database lacks ${pending.join(', ')}`, 'npm run migrate')
}
