import { dead, type Finding, ok } from '../../domain/conditions/finding.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { selectPendingMigrations } from '../connection/migrate.ts'
import type { Postgres } from '../connection/postgres.ts'
import { isOutOfConnections, OUT_OF_CONNECTIONS } from '../connection/postgres.ts'
import type { Condition } from './condition.ts'

/** The first release that supports everything the migrations use. */
const OLDEST_MAJOR = 14

/** Checks that Postgres answers, and its version. */
async function checkPostgres(pool: Postgres): Promise<Finding> {
  try {
    const startedAtMs = performance.now()
    const { rows } = await pool.query<{ server_version: string }>('show server_version')
    const version = rows[0]?.server_version ?? ''
    const answer = `PostgreSQL ${version} answers in ${Math.ceil(performance.now() - startedAtMs)} ms`
    if (Number.parseInt(version, 10) >= OLDEST_MAJOR) return ok('postgres', answer)
    return dead('postgres', answer, `use PostgreSQL ${OLDEST_MAJOR} or newer`)
  } catch (error) {
    if (isOutOfConnections(error)) return dead('postgres', `refuses: ${reasonOf(error)}`, OUT_OF_CONNECTIONS)
    return dead('postgres', `not reachable: ${reasonOf(error)}`, 'start it, or correct DATABASE_URL')
  }
}

/** Checks that all migrations of this release are applied. */
async function checkMigrations(pool: Postgres): Promise<Finding> {
  const pending = await selectPendingMigrations(pool)
  if (pending.length === 0) return ok('migrations', 'the database is up to date')
  return dead('migrations', `the database lacks ${pending.join(', ')}`, 'tallygate migrate')
}

export const POSTGRES: Condition = {
  name: 'postgres',
  place: 'postgres',
  severity: 'wrong',
  find: ({ pool }) => checkPostgres(pool),
  readiness: { item: 'postgres', lacks: ({ postgresReachable }) => !postgresReachable },
  gauges: [
    {
      name: 'tallygate_key_store_reachable',
      help: 'Whether the last poll of the keys in Postgres succeeded.',
      aggregator: 'min',
      read: ({ postgresReachable }) => Number(postgresReachable),
    },
  ],
  rules: [
    {
      name: 'PostgresAway',
      expr: 'tallygate_key_store_reachable == 0',
      for: '1m',
      severity: 'page',
      summary: 'PostgreSQL does not answer about keys; known ones go on for `KEY_GRACE_SECONDS`.',
    },
  ],
}

export const MIGRATIONS: Condition = {
  name: 'migrations',
  place: 'postgres',
  severity: 'wrong',
  find: ({ pool }) => checkMigrations(pool),
}
