import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/** Registers a stream, so that workers read it. Idempotent. */
export async function registerStream(pool: Postgres, name: string): Promise<void> {
  await pool.query(`insert into ${SCHEMA}.streams (name) values ($1) on conflict do nothing`, [name])
}

/** The full Redis keys of all registered streams, sorted. */
export async function selectStreams(pool: Postgres): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(`select name from ${SCHEMA}.streams order by name`)
  return rows.map(({ name }) => name)
}
