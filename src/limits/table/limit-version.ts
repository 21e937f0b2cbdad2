import type { TableState } from '../../lib/watched-table.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/**
 * Takes the number of a change. It locks the counter until the transaction ends, so numbers become visible in their
 * order; and changes of limits come one after the other, so one reads what the other has left.
 */
export async function takeLimitVersion(session: PostgresSession): Promise<string> {
  const { rows } = await session.query<{ version: string }>(
    `update ${SCHEMA}.limit_version set version = version + 1 returning version`,
  )
  return rows[0]?.version ?? '0'
}

/**
 * The state of the limits now.
 * @throws When Postgres is unreachable.
 */
export async function readLimitState(pool: Postgres): Promise<TableState> {
  const { rows } = await pool.query<{ version: string; server: string }>(
    `select version, extract(epoch from pg_postmaster_start_time())::text as server from ${SCHEMA}.limit_version`,
  )
  return { version: BigInt(rows[0]?.version ?? 0), server: rows[0]?.server ?? '' }
}
