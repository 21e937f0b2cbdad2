import { setTimeout as delay } from 'node:timers/promises'
import type { UtcDay } from '../../domain/utc-day.ts'
import { type PostgresSession, sqlStateOf } from './postgres.ts'

/**
 * The numbers of our advisory locks, far from those that other users of the database would choose. Two meanings of one
 * number would block each other for no reason. Running processes of another release use the same numbers, so a number
 * never changes its meaning. `shard`, `usageDay` and `closing` are the first of two keys, the others the only one.
 */
export const ADVISORY_LOCKS = {
  migrations: 1_952_541_804,
  shard: 1_952_541_805,
  pruning: 1_952_541_807,
  partitions: 1_952_541_808,
  corrections: 1_952_541_809,
  usageDay: 1_952_541_810,
  closing: 1_952_541_820,
} as const

/** The number of one more lock is Postgres's hash of this text. */
export const PRICE_CATALOGS_LOCK = 'tallygate price catalogs'

/**
 * Makes this transaction the only one that rolls up the stream, and keeps corrections of these days out until it ends,
 * as well as those of all days. It must be the transaction's first statement, alone: the snapshot of the next one then
 * begins after the last holder's commit. Nothing is waited for.
 *
 * @returns `false`: another transaction has the stream, or a correction is under way.
 */
export async function lockForRollUp(
  session: PostgresSession,
  stream: string,
  days: readonly UtcDay[],
): Promise<boolean> {
  return await isLocked(
    session,
    `pg_try_advisory_xact_lock($1, hashtext($2)) and pg_try_advisory_xact_lock_shared($3) and
       (select coalesce(bool_and(pg_try_advisory_xact_lock_shared($4, day - date '1970-01-01')), true)
        from unnest($5::date[]) as day)`,
    [ADVISORY_LOCKS.shard, stream, ADVISORY_LOCKS.corrections, ADVISORY_LOCKS.usageDay, days],
  )
}

/**
 * Keeps corrections of more days out, for a roll-up that learns of them late. Nothing of their totals may have been
 * read before.
 *
 * @returns `false`: a correction of one of them is under way.
 */
export async function shareDays(session: PostgresSession, days: readonly UtcDay[]): Promise<boolean> {
  return await isLocked(
    session,
    `(select coalesce(bool_and(pg_try_advisory_xact_lock_shared($1, day - date '1970-01-01')), true)
      from unnest($2::date[]) as day)`,
    [ADVISORY_LOCKS.usageDay, days],
  )
}

/**
 * Keeps all that would write totals of these days out until the transaction ends, after waiting for those under way.
 * What is read of these days then is complete. Days are locked in rising order, so that no two corrections wait for
 * each other in a circle; roll-ups never wait for these locks. A correction of all days keeps this one out.
 */
export async function lockDays(session: PostgresSession, days: readonly UtcDay[]): Promise<void> {
  await session.query('select pg_advisory_xact_lock_shared($1)', [ADVISORY_LOCKS.corrections])
  await session.query(
    `select pg_advisory_xact_lock($1, number) from
       (select distinct day - date '1970-01-01' as number from unnest($2::date[]) day order by number offset 0) d`,
    [ADVISORY_LOCKS.usageDay, days],
  )
}

/** While it waits no roll-up begins, of whatever day; those under way have mostly ended by then. */
const TURN_MS = 500
/** Roll-ups go on in between. */
const BETWEEN_TURNS_MS = 1_000
/** Longer than a part of a day is rebuilt, as a rule. */
const MOST_TURNS = 40
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Keeps all roll-ups and corrections out, of whatever day, until the transaction ends, after waiting for those under
 * way. What is read then is complete, and what is rolled up later sees what was decided. Like every lock here it must
 * be a statement of its own: the snapshot of the next one begins after it.
 *
 * It waits by turns: a correction of one day may take long, and the days beside it are to be counted meanwhile.
 *
 * @throws When it has waited for a minute.
 */
export async function lockCorrections(session: PostgresSession): Promise<void> {
  const { rows } = await session.query<{ before: string }>(`select current_setting('lock_timeout') as before`)
  for (let turn = 1; ; turn += 1) {
    await session.query('savepoint turn')
    await session.query(`set local lock_timeout = ${TURN_MS}`)
    try {
      await session.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.corrections])
      break
    } catch (error) {
      if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE || turn === MOST_TURNS) throw error
    }
    await session.query('rollback to savepoint turn')
    await delay(BETWEEN_TURNS_MS)
  }
  await session.query('release savepoint turn')
  await session.query(`select set_config('lock_timeout', $1, true)`, [rows[0]?.before])
}

/**
 * Makes this transaction the only one that sums up the day, or the month that begins with it, after waiting for
 * another one.
 */
export async function lockClosing(
  session: PostgresSession,
  unit: 'day' | 'month',
  day: UtcDay,
): Promise<void> {
  await session.query(`select pg_advisory_xact_lock($1, 2 * ($2::date - date '1970-01-01') + $3)`, [
    ADVISORY_LOCKS.closing,
    day,
    unit === 'day' ? 0 : 1,
  ])
}

/** Waits for its turn to create partitions; holds the lock until the transaction ends. */
export async function lockPartitions(session: PostgresSession): Promise<void> {
  await session.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.partitions])
}

/**
 * Makes this transaction the only one whose holder prunes. The work itself is done on another connection, since
 * partitions are not detached in a transaction: a session's lock would stay with a pooler's connection.
 *
 * @returns `false`: another transaction has it.
 */
export async function tryLockPruning(session: PostgresSession): Promise<boolean> {
  return await isLocked(session, 'pg_try_advisory_xact_lock($1)', [ADVISORY_LOCKS.pruning])
}

/** Waits for its turn to change the schema; holds the lock until the transaction ends. */
export async function lockMigrations(session: Pick<PostgresSession, 'query'>): Promise<void> {
  await session.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.migrations])
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
