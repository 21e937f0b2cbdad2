import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'
import { selectStreams } from './ledger-database.ts'

/** A gap that was not filled since. */
export interface LedgerGap extends SequenceRange {
  readonly producer: string
  /** `producer_lost`, or the reason that the producer's gap marker gave. */
  readonly reason: string
  readonly recordedAt: Date
}

/** How far the records of one producer are counted. */
export interface ProducerProgress {
  readonly producer: string
  readonly stream: string
  readonly committedOffset: number
  readonly movedAt: Date
}

/** The ledger as Postgres knows it. */
export interface LedgerStatus {
  readonly streams: readonly string[]
  /** All runs of gateway processes that were ever counted. */
  readonly producerCount: number
  /** Those whose committed offsets moved last, newest first; at most 50. */
  readonly producers: readonly ProducerProgress[]
  /** Gaps that were not filled since, newest first; at most 100. */
  readonly gaps: readonly LedgerGap[]
  readonly gapCount: number
  /** Records in all those gaps together. */
  readonly missingRecords: bigint
  /** Those that were not counted since. */
  readonly deadLetters: number
  /** When the newest of them was received; `null`: there is none. */
  readonly newestDeadLetterAt: Date | null
}

/** Reads the status. It does not cover records that still wait on the streams. */
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
      `select (select count(*) from ${SCHEMA}.producers)
           + (select coalesce(sum(producers), 0) from ${SCHEMA}.folded_sums) as producers,
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

/** What could not be counted, and has not been since, in numbers alone. */
export async function countLosses(
  pool: Postgres,
): Promise<{ readonly gaps: number; readonly missingRecords: number; readonly deadLetters: number }> {
  const { rows } = await pool.query<{ gaps: number; missing: number; letters: number }>(
    `select (select count(*) from ${SCHEMA}.dead_letters where resolved_at is null)::float8 as letters,
       count(*)::float8 as gaps, coalesce(sum(to_seq - from_seq + 1), 0)::float8 as missing
     from ${SCHEMA}.ledger_gaps where filled_at is null`,
  )
  const [row] = rows
  return { gaps: row?.gaps ?? 0, missingRecords: row?.missing ?? 0, deadLetters: row?.letters ?? 0 }
}
