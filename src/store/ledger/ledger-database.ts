import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'
import type { StoreClock } from '../processes/store-clock.ts'
import { readCommittedOffsets, readGaps } from './committed-offsets.ts'

/** The requests of a gateway's ledger to Postgres, as queries to `pool`. Every answer rejects when Postgres is away. */
export function buildLedgerDatabase(pool: Postgres) {
  return {
    readCommittedOffsets: (producers: readonly string[]) => readCommittedOffsets(pool, producers),
    readGaps: (producer: string) => readGaps(pool, producer),
    readDatabaseId: () => readDatabaseId(pool),
    registerStream: (stream: string) => registerStream(pool, stream),
  }
}

/**
 * The identity of the database: when its first migration ran, in seconds, to the microsecond. A restore, a replica and
 * a dump keep it; a database that was created again has another. `null`: not known.
 *
 * @throws When Postgres is away.
 */
export async function readDatabaseId(pool: Postgres): Promise<string | null> {
  const { rows } = await pool.query<{ made_at: string }>(
    `select extract(epoch from run_on)::text as made_at
     from ${SCHEMA}.migrations order by id limit 1`,
  )
  return rows[0]?.made_at ?? null
}

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
