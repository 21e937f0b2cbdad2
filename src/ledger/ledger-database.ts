import type { SequenceRange } from '../domain/sequence-range.ts'
import { unlessAborted, withinDeadline } from '../lib/deadline.ts'

/** The requests of the ledger to Postgres. Every method rejects while Postgres does not answer. */
export interface LedgerDatabase {
  /** The committed offsets of these producers as of now. A producer without a row is absent. */
  readCommittedOffsets(producers: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Gaps that workers recorded for the producer and that are not filled. */
  readGaps(producer: string): Promise<readonly SequenceRange[]>
  /**
   * Identifies the database that answers. A restore and a failover keep the identity; a database that was created
   * again has another. `null`: the database has none.
   */
  readDatabaseId(): Promise<string | null>
  /**
   * Registers a stream with the workers; idempotent. It must succeed before anything is shipped to the stream. It is
   * repeated from time to time, because a restored Postgres may lack the registration.
   */
  registerStream(stream: string): Promise<void>
}

/** Longer than any of these queries takes on a healthy Postgres. A frozen one counts as unreachable. */
const ANSWER_LIMIT_MS = 5_000

/**
 * The same database, but no answer is waited for longer than 5 s, nor after `stopped` is aborted: a gateway that
 * stops must not wait for a Postgres that is silent.
 */
export function withDeadlines(database: LedgerDatabase, stopped: AbortSignal): LedgerDatabase {
  const limit = <T>(answer: Promise<T>) => withinDeadline(unlessAborted(answer, stopped), ANSWER_LIMIT_MS)
  return {
    readCommittedOffsets: (producers) => limit(database.readCommittedOffsets(producers)),
    readGaps: (producer) => limit(database.readGaps(producer)),
    readDatabaseId: () => limit(database.readDatabaseId()),
    registerStream: (stream) => limit(database.registerStream(stream)),
  }
}
