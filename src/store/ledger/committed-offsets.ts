import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Postgres, PostgresSession } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/**
 * SQL: ids and committed offsets of producers, those that are folded too.
 *
 * @param ids A parameter such as `$1`, of an array of texts.
 */
export function offsetsStatement(ids: string): string {
  return `select id, mark from ${SCHEMA}.producers where id = any(${ids}::text[])
    union all
    select replace(id::text, '-', ''), committed from ${SCHEMA}.folded_producers
    where id = any(array(select one::uuid from unnest(${ids}::text[]) one where one ~ '^[0-9a-f]{32}$'))`
}

const UNFOLDED = `select coalesce(sum(mark), 0) from ${SCHEMA}.producers`
const FOLDED = `select coalesce(sum(committed), 0) from ${SCHEMA}.folded_sums`

/** SQL: up to where all producers were counted together, those that are folded too. */
export const ALL_COMMITTED = `((${UNFOLDED}) + (${FOLDED}))`

/**
 * The committed offsets of these producers as of now. A producer that has no row yet is absent.
 *
 * @throws When Postgres is away.
 */
export async function readCommittedOffsets(
  pool: Postgres,
  producers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ id: string; mark: string }>(offsetsStatement('$1'), [producers])
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

/** Sequences of this producer that were passed over and have not come since, in order. */
export async function readGaps(pool: Postgres, producer: string): Promise<SequenceRange[]> {
  const { rows } = await pool.query<{ from_seq: string; to_seq: string }>(
    `select from_seq, to_seq from ${SCHEMA}.ledger_gaps
     where producer = $1 and filled_at is null order by from_seq`,
    [producer],
  )
  return rows.map((row) => ({ from: Number(row.from_seq), to: Number(row.to_seq) }))
}

/** A row of `ledger_gaps`. */
export interface GapRow extends SequenceRange {
  readonly producer: string
  readonly reason: string
  /** `null`: now. */
  readonly recordedAt: Date | null
  /** Its records came after all, in this transaction. */
  readonly filled: boolean
}

/** The unfilled gaps of these producers, by producer, in order. The locks on the producers' rows protect them. */
export async function selectGaps(
  session: PostgresSession,
  producers: readonly string[],
): Promise<ReadonlyMap<string, (GapRow & { readonly id: string })[]>> {
  const { rows } = await session.query<{
    id: string
    producer: string
    from_seq: string
    to_seq: string
    reason: string
    recorded_at: Date
  }>(
    `select id, producer, from_seq, to_seq, reason, recorded_at from ${SCHEMA}.ledger_gaps
     where producer = any($1) and filled_at is null order by producer, from_seq`,
    [producers],
  )
  const gaps = new Map<string, (GapRow & { readonly id: string })[]>()
  for (const row of rows) {
    const ofProducer = gaps.get(row.producer) ?? []
    gaps.set(row.producer, ofProducer)
    ofProducer.push({
      id: row.id,
      producer: row.producer,
      from: Number(row.from_seq),
      to: Number(row.to_seq),
      reason: row.reason,
      recordedAt: row.recorded_at,
      filled: false,
    })
  }
  return gaps
}

/** Deletes the gaps `replaced`, by their ids, and adds `rows`. */
export async function replaceGaps(
  session: PostgresSession,
  replaced: readonly string[],
  rows: readonly GapRow[],
): Promise<void> {
  if (replaced.length > 0) {
    await session.query(`delete from ${SCHEMA}.ledger_gaps where id = any($1)`, [replaced])
  }
  await session.query(
    `insert into ${SCHEMA}.ledger_gaps (producer, from_seq, to_seq, reason, recorded_at, filled_at)
     select producer, "from", "to", reason, coalesce("recordedAt", now()), case when filled then now() end
     from json_to_recordset($1) as g (producer text, "from" bigint, "to" bigint, reason text,
       "recordedAt" timestamptz, filled boolean)`,
    [JSON.stringify(rows)],
  )
}
