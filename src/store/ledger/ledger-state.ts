import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/**
 * The marks of these producers as committed now. A producer that has no row yet is absent.
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

/** Sequences of this producer that were passed over and have not come since, in order. */
export async function readGaps(pool: Postgres, producer: string): Promise<SequenceRange[]> {
  const { rows } = await pool.query<{ from_seq: string; to_seq: string }>(
    `select from_seq, to_seq from ${SCHEMA}.ledger_gaps
     where producer = $1 and filled_at is null order by from_seq`,
    [producer],
  )
  return rows.map((row) => ({ from: Number(row.from_seq), to: Number(row.to_seq) }))
}

/**
 * Which database this is: when its first tables were made, to the microsecond, in seconds. A restore, a replica and
 * a dump keep it; a database that was made anew has another. `null`: nothing tells.
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

/** Makes the stream one that workers drain. Doing it again changes nothing. */
export async function registerStream(pool: Postgres, name: string): Promise<void> {
  await pool.query(`insert into ${SCHEMA}.streams (name) values ($1) on conflict do nothing`, [name])
}

/** The full Redis keys of all registered streams, sorted. */
export async function selectStreams(pool: Postgres): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(`select name from ${SCHEMA}.streams order by name`)
  return rows.map(({ name }) => name)
}

export interface LedgerGap extends SequenceRange {
  readonly producer: string
  /** `producer_lost`, or what the producer said. */
  readonly reason: string
  readonly recordedAt: Date
}

export interface ProducerProgress {
  readonly producer: string
  readonly stream: string
  readonly committedOffset: number
  readonly movedAt: Date
}

export interface LedgerStatus {
  readonly streams: readonly string[]
  /** All runs of gateways that were ever counted. */
  readonly producerCount: number
  /** Those whose marks moved last, newest first; at most 50. */
  readonly producers: readonly ProducerProgress[]
  /** Holes that were not filled since, newest first; at most 100. */
  readonly gaps: readonly LedgerGap[]
  readonly gapCount: number
  /** Records in all those holes together. */
  readonly missingRecords: bigint
  /** Those that were not counted since. */
  readonly deadLetters: number
  /** When the newest of them came; `null`: there is none. */
  readonly newestDeadLetterAt: Date | null
}

/** The ledger as Postgres knows it. What is still on its way is in the streams' lengths. */
export async function selectLedgerStatus(pool: Postgres): Promise<LedgerStatus> {
  const [streams, counts, producers, gaps] = await Promise.all([
    selectStreams(pool),
    pool.query<{
      producers: string
      dead_letters: string
      newest_dead_letter: Date | null
      gaps: string
      missing: string
    }>(
      `select (select count(*) from ${SCHEMA}.producers) as producers,
         (select count(*) from ${SCHEMA}.dead_letters where resolved_at is null) as dead_letters,
         (select max(at) from ${SCHEMA}.dead_letters where resolved_at is null) as newest_dead_letter, count(*) as gaps,
         coalesce(sum(to_seq - from_seq + 1), 0) as missing
       from ${SCHEMA}.ledger_gaps where filled_at is null`,
    ),
    pool.query<{ id: string; stream: string; mark: string; moved_at: Date }>(
      `select id, stream, mark, moved_at from ${SCHEMA}.producers order by moved_at desc, id limit 50`,
    ),
    pool.query<{ producer: string; from_seq: string; to_seq: string; reason: string; recorded_at: Date }>(
      `select producer, from_seq, to_seq, reason, recorded_at from ${SCHEMA}.ledger_gaps
       where filled_at is null order by recorded_at desc, producer, from_seq limit 100`,
    ),
  ])
  const count = counts.rows[0]
  return {
    streams,
    producerCount: Number(count?.producers ?? 0),
    producers: producers.rows.map((row) => ({
      producer: row.id,
      stream: row.stream,
      committedOffset: Number(row.mark),
      movedAt: row.moved_at,
    })),
    gaps: gaps.rows.map((row) => ({
      producer: row.producer,
      from: Number(row.from_seq),
      to: Number(row.to_seq),
      reason: row.reason,
      recordedAt: row.recorded_at,
    })),
    gapCount: Number(count?.gaps ?? 0),
    missingRecords: BigInt(count?.missing ?? '0'),
    deadLetters: Number(count?.dead_letters ?? 0),
    newestDeadLetterAt: count?.newest_dead_letter ?? null,
  }
}
