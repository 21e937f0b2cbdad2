import type { JournalRow } from '../../journal/journal.ts'
import type { SentEntry } from '../sent-ids.ts'

/** The requests to Redis that the shippers of a process need. Every method rejects when the answer is not clear. */
export interface StreamLink {
  /** Commands may be tried now. */
  readonly connected: boolean
  /**
   * Appends records of one producer to a stream, in order; the ids of those that are on it, from the first on.
   * Rejected, or shorter than asked: the rest may or may not be there.
   */
  append(
    stream: string,
    producer: string,
    rows: readonly Pick<JournalRow, 'sequence' | 'body'>[],
  ): Promise<string[]>
  /**
   * Tells whether the stream has so many entries, as of the last append, that each producer is to keep one batch on it.
   */
  isCrowded(stream: string): boolean
  /** Tells of each entry of the producer whether it is on the stream. */
  areThere(stream: string, producer: string, entries: readonly SentEntry[]): Promise<boolean[]>
  /** The producer's committed offset as a worker hinted it last; 0: none. */
  readHint(stream: string, producer: string): Promise<number>
}
