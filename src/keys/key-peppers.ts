import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/**
 * How many active keys are hashed with each pepper, by `pepperId`.
 * @throws When Postgres is unreachable.
 */
export async function countKeysByPepper(pool: Postgres): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ pepper_id: string; count: string }>(
    `select pepper_id, count(*) from ${SCHEMA}.keys
     where revoked_at is null and coalesce(expires_at > now(), true) group by pepper_id`,
  )
  return new Map(rows.map(({ pepper_id, count }) => [pepper_id, Number(count)]))
}
