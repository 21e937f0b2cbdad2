import type { UtcDay } from '../../domain/utc-day.ts'
import type { PostgresSession } from './postgres.ts'

/**
 * The numbers of our advisory locks, far from those that other users of the database would choose. Two meanings of one
 * number would block each other for no reason. Running processes of another release use the same numbers, so a number
 * never changes its meaning. `shard` and `clientDay` are the first of two keys, the others the only one.
 */
export const ADVISORY_LOCKS = {
  migrations: 1_952_541_804,
  shard: 1_952_541_805,
  clientDay: 1_952_541_806,
  pruning: 1_952_541_807,
  partitions: 1_952_541_808,
  corrections: 1_952_541_809,
  closing: 1_952_541_820,
} as const

/** The number of one more lock is Postgres's hash of this text. */
export const PRICE_CATALOGS_LOCK = 'tallygate price catalogs'

/**
 * Makes this transaction the only one that rolls up the stream. It must be the transaction's first statement,
 * alone: the snapshot of the next one then begins after the last holder's commit.
 *
 * @returns `false`: another transaction has it.
 */
export async function lockShard(session: PostgresSession, stream: string): Promise<boolean> {
  return await isLocked(session, 'pg_try_advisory_xact_lock($1, hashtext($2))', [
    ADVISORY_LOCKS.shard,
    stream,
  ])
}

/**
 * Takes part in deciding which models of a client and day are totalled apart. Two transactions that hold the same pair
 * wait for each other until they commit: only then does one see what the other added. The locks are taken in one order
 * everywhere, so that no two transactions wait for each other in a circle.
 */
export async function lockClientDays(
  session: PostgresSession,
  clientDays: readonly { readonly clientId: string; readonly day: UtcDay }[],
): Promise<void> {
  await session.query(
    `select pg_advisory_xact_lock($1, hash) from
       (select distinct hashtext(pair) as hash from unnest($2::text[]) pair order by hash offset 0) h`,
    [ADVISORY_LOCKS.clientDay, clientDays.map(({ clientId, day }) => `${day} ${clientId}`)],
  )
}

/**
 * Keeps all roll-ups out until the transaction ends, after waiting for those under way. What is read then is complete,
 * and what is rolled up later sees what was decided. Like every lock here it must be a statement of its own: the
 * snapshot of the next one begins after it.
 */
export async function lockCorrections(session: PostgresSession): Promise<void> {
  await session.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.corrections])
}

/**
 * Keeps corrections out until the transaction ends. Any number of transactions that count calls may hold it.
 *
 * @returns `false`: a correction is under way.
 */
export async function shareCorrections(session: PostgresSession): Promise<boolean> {
  return await isLocked(session, 'pg_try_advisory_xact_lock_shared($1)', [ADVISORY_LOCKS.corrections])
}

/** STANDIN */
export async function lockDays(session: PostgresSession, _days: readonly UtcDay[]): Promise<void> {
  await lockCorrections(session)
}

/**
 * Makes this transaction the only one that sums up the day, or the month that begins with it, after waiting for
 * another one.
 */
export async function lockClosing(session: PostgresSession, day: UtcDay): Promise<void> {
  await session.query(`select pg_advisory_xact_lock($1, $2::date - date '2000-01-01')`, [
    ADVISORY_LOCKS.closing,
    day,
  ])
}

/** Waits for its turn to create partitions; holds the lock until the transaction ends. */
export async function lockPartitions(session: PostgresSession): Promise<void> {
  await session.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.partitions])
}

/**
 * Makes this session the only one that prunes, until it ends: partitions are not dropped in a transaction.
 *
 * @returns `false`: another session has it.
 */
export async function tryLockPruning(session: PostgresSession): Promise<boolean> {
  return await isLocked(session, 'pg_try_advisory_lock($1)', [ADVISORY_LOCKS.pruning])
}

/**
 * Locks the current price catalog until the transaction ends. Two transactions that replace it come one after the
 * other, even while there is no row to lock.
 */
export async function lockPriceCatalogs(session: PostgresSession): Promise<void> {
  await session.query('select pg_advisory_xact_lock(hashtext($1))', [PRICE_CATALOGS_LOCK])
}

async function isLocked(
  session: PostgresSession,
  tryLock: string,
  values: readonly unknown[],
): Promise<boolean> {
  const { rows } = await session.query<{ locked: boolean }>(`select ${tryLock} as locked`, [...values])
  return rows[0]?.locked === true
}
