import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Postgres, PostgresSession } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/**
 * The committed offsets of these producers as of now. A producer that has no row yet is absent.
 *
 * @throws When Postgres is away.
 */
export async function readCommittedOffsets(
  pool: Postgres,
  producers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ id: string; mark: string }>(
    `select id, mark from ${SCHEMA}.producers where id = any($1)`,
    [producers],
  )
  return new Map(rows.map(({ id, mark: committedOffset }) => [id, Number(committedOffset)]))
}

/** Gives each producer a row, which `lockOffsets` can lock: `for update` on a missing row locks nothing. */
export async function addProducers(
  session: PostgresSession,
  stream: string,
  sortedProducers: readonly string[],
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.producers (id, stream) select id, $2 from unnest($1::text[]) id on conflict do nothing`,
    [sortedProducers, stream],
  )
}

/** Locks the producers' rows, in the order of their ids, and reads their committed offsets. */
export async function lockOffsets(
  session: PostgresSession,
  sortedProducers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await session.query<{ id: string; mark: string }>(
    `select id, mark from ${SCHEMA}.producers where id = any($1) order by id for update`,
    [sortedProducers],
  )
  return new Map(rows.map(({ id, mark: committedOffset }) => [id, Number(committedOffset)]))
}

/** A producer's committed offset, before and after a transaction. */
export interface OffsetMove extends SequenceRange {
  readonly producer: string
}

/**
 * Moves committed offsets that are still where they were read.
 *
 * @throws When one is not: the transaction must not commit.
 */
export async function moveOffsets(session: PostgresSession, moves: readonly OffsetMove[]): Promise<void> {
  const { rowCount } = await session.query(
    `update ${SCHEMA}.producers p set mark = m.new, moved_at = now()
     from unnest($1::text[], $2::bigint[], $3::bigint[]) as m (id, old, new)
     where p.id = m.id and p.mark = m.old`,
    [moves.map(({ producer }) => producer), moves.map(({ from }) => from), moves.map(({ to }) => to)],
  )
  if (rowCount !== moves.length)
    throw new Error('a committed offset was moved by another transaction in spite of its lock')
}
