import type { PostgresSession } from './postgres.ts'

/** Advisory locks of the jobs that change partitions. */
const PRUNING = 1_952_541_807
const PARTITIONS = 1_952_541_808

/** Waits for its turn to make partitions; until the transaction's end. */
export async function lockPartitions(session: PostgresSession): Promise<void> {
  await session.query('select pg_advisory_xact_lock($1)', [PARTITIONS])
}

/**
 * Makes this session the only one that prunes, until it ends: dropping a partition is no transaction's work.
 *
 * @returns `false`: another has it.
 */
export async function tryLockPruning(session: PostgresSession): Promise<boolean> {
  const { rows } = await session.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
    PRUNING,
  ])
  return rows[0]?.locked === true
}
