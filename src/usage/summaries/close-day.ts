import type { UtcDay } from '../../domain/utc-day.ts'
import { lockClosing, lockDays } from '../../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { lockPrices } from '../price-definitions.ts'
import { isClosed } from './summarised.ts'
import { writeUnpricedRows } from './unpriced-rows.ts'
import { writeDay } from './write-summaries.ts'

/**
 * Sums a day up. No roll-up waits for it: the day is locked for a moment at both ends, and what is written
 * between them shows in the marker that the writer has deleted.
 *
 * @returns `false`: the day was written meanwhile, or another process has begun it again.
 */
export async function closeDay(pool: Postgres, day: UtcDay): Promise<boolean> {
  // 1. From here on a writer deletes the marker: those before are through, as they share the day's lock.
  const attempt = await inTransaction(pool, async (session) => {
    await lockDays(session, [day])
    return await beginDay(session, day)
  })
  if (attempt === null) return false
  return await inTransaction(pool, async (session) => {
    // 2. One at a time, so that no sums of another one come in between.
    await lockClosing(session, 'day', day)
    // 3. Before the sums: a definition that comes after this is found in 6.
    const unknown = await selectUnknownPrices(session, day)
    // 4. The sums of what 1 has seen, or of more, and then 5 fails.
    await writeDay(session, day)
    const unpricedRows = await writeUnpricedRows(session, day)
    // 5. The writers since 1 are through: without one the marker is still there.
    await lockDays(session, [day])
    // 6. No definition comes in until the commit.
    if (unknown.length > 0 && (await areSomeKnown(session, unknown))) return false
    return await setClosed(session, { day, attempt, unpricedRows, unknown })
  })
}

/** @returns What names this attempt; `null`: the day is closed. */
async function beginDay(session: PostgresSession, day: UtcDay): Promise<string | null> {
  const { rows } = await session.query<{ attempt: string }>(
    `insert into ${SCHEMA}.summarised_days as d (day, attempt) values ($1, gen_random_uuid())
     on conflict (day) do update set attempt = excluded.attempt where not (${isClosed('d')}) returning attempt`,
    [day],
  )
  return rows[0]?.attempt ?? null
}

async function selectUnknownPrices(session: PostgresSession, day: UtcDay): Promise<readonly string[]> {
  const { rows } = await session.query<{ price_id: string }>(
    `select distinct price_id from ${SCHEMA}.daily_usage u
     where day = $1 and price_id <> '' and not exists (
       select from ${SCHEMA}.prices p where p.price_id = u.price_id)`,
    [day],
  )
  return rows.map(({ price_id }) => price_id)
}

async function areSomeKnown(session: PostgresSession, priceIds: readonly string[]): Promise<boolean> {
  await lockPrices(session)
  const { rows } = await session.query(`select from ${SCHEMA}.prices where price_id = any($1) limit 1`, [
    priceIds,
  ])
  return rows.length > 0
}

interface Closing {
  readonly day: UtcDay
  readonly attempt: string
  readonly unpricedRows: number
  /** Prices of the day without a definition. */
  readonly unknown: readonly string[]
}

async function setClosed(
  session: PostgresSession,
  { day, attempt, unpricedRows, unknown }: Closing,
): Promise<boolean> {
  const { rowCount } = await session.query(
    `update ${SCHEMA}.summarised_days set closed_at = now(), unpriced_rows = $3, unknown_prices = $4
     where day = $1 and attempt = $2`,
    [day, attempt, unpricedRows, unknown.length === 0 ? null : unknown],
  )
  return rowCount === 1
}
