import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'
import type { StoreClock } from '../processes/store-clock.ts'

/** Registers a stream, so that workers read it. Idempotent. */
export async function registerStream(pool: Postgres, name: string): Promise<void> {
  await pool.query(`insert into ${SCHEMA}.streams (name) values ($1) on conflict do nothing`, [name])
}

/**
 * The full Redis keys of all registered streams, sorted.
 *
 * @param clock Learns what Postgres's clock said meanwhile.
 */
export async function selectStreams(pool: Postgres, clock?: StoreClock): Promise<string[]> {
  const askedAtMs = clock?.asks() ?? 0
  const { rows } = await pool.query<{ name: string; now_ms: number }>(
    `select name, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
     from ${SCHEMA}.streams order by name`,
  )
  if (rows[0] !== undefined) clock?.learn(rows[0].now_ms, askedAtMs)
  return rows.map(({ name }) => name)
}
