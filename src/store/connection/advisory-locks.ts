import type { PostgresSession } from './postgres.ts'

const CORRECTIONS = 1_952_541_809

/**
 * Keeps all roll-ups out until the transaction ends, after waiting for those under way: what is read then is the
 * whole, and what is rolled up later sees what was decided. As with every lock here it must be a statement of its
 * own: the snapshot of the next one begins after it.
 */
export async function lockCorrections(session: PostgresSession): Promise<void> {
  await session.query('select pg_advisory_xact_lock($1)', [CORRECTIONS])
}

/**
 * Keeps corrections out until the transaction ends, beside any number of others that count calls.
 *
 * @returns `false`: a correction is under way.
 */
export async function shareCorrections(session: PostgresSession): Promise<boolean> {
  const { rows } = await session.query<{ locked: boolean }>(
    'select pg_try_advisory_xact_lock_shared($1) as locked',
    [CORRECTIONS],
  )
  return rows[0]?.locked === true
}
