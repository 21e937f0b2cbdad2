import { parseEntry, parseRecord } from '../../ledger/entry.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { readEntries, STREAM_START, type StreamEntry } from '../../store/ledger/call-stream.ts'
import type { Candidate } from '../rolled-up.ts'

/** Entries that were read and parsed, in the stream's order. */
export interface ReadBatch {
  /** How many entries it came from. */
  readonly entries: number
  readonly candidates: readonly Candidate[]
  /** Ids of entries that are not as they were written: their producer finds them gone and sends them again. */
  readonly corrupt: readonly string[]
  /** An entry of a later release came behind these. */
  readonly newer: boolean
  /** The stream had no more just now. */
  readonly atTheEnd: boolean
}

/**
 * Entries in one XREAD at most: parsing them takes some milliseconds, in which this process does nothing else, and Redis
 * serves no other command while it collects them.
 */
const READ_AT_A_TIME = 500

/** Reads a stream from its beginning, one batch after the other, on a connection that nobody else reads on. */
export class BatchReader {
  readonly #redis: Redis
  readonly #stream: string
  readonly #signal: AbortSignal
  #cursor = STREAM_START
  /** Counts restarts: a reading under way since before the last one is of no use any more. */
  #round = 0

  constructor(redis: Redis, stream: string, signal: AbortSignal) {
    this.#redis = redis
    this.#stream = stream
    this.#signal = signal
  }

  /** The next batch begins at the stream's beginning again. */
  restart(): void {
    this.#cursor = STREAM_START
    this.#round += 1
  }

  /**
   * Reads on from where the last batch ended.
   *
   * @param blockMs How long the first entry is waited for; 0: not at all.
   */
  async read(most: number, blockMs: number): Promise<ReadBatch> {
    const round = this.#round
    const batch = { entries: 0, candidates: [] as Candidate[], corrupt: [] as string[], newer: false }
    for (;;) {
      const count = Math.min(READ_AT_A_TIME, most - batch.entries)
      const limit = { count, blockMs: batch.entries === 0 ? blockMs : 0, signal: this.#signal }
      const read = await readEntries(this.#redis, this.#stream, this.#cursor, limit)
      // Discarded by whoever restarted it.
      if (round !== this.#round) return { ...batch, atTheEnd: true }
      batch.entries += read.length
      this.#cursor = read.at(-1)?.id ?? this.#cursor
      batch.newer = parseEntries(read, batch.candidates, batch.corrupt)
      const atTheEnd = read.length < count
      if (atTheEnd || batch.newer || batch.entries >= most || this.#signal.aborted)
        return { ...batch, atTheEnd }
    }
  }
}

/** @returns Whether an entry of a later release was met: nothing of these counts then, in whatever order they came. */
function parseEntries(entries: readonly StreamEntry[], candidates: Candidate[], corrupt: string[]): boolean {
  const before = candidates.length
  for (const { id, fields } of entries) {
    const entry = parseEntry(fields)
    switch (entry.kind) {
      case 'newer':
        candidates.length = before
        return true
      case 'corrupt':
        corrupt.push(id)
        break
      case 'entry':
        candidates.push(candidateOf(id, entry.producer, entry.sequence, entry.body))
        break
      default:
        entry satisfies never
    }
  }
  return false
}

function candidateOf(id: string, producer: string, sequence: number, body: string): Candidate {
  const content = parseRecord(body)
  if (content !== null && 'void' in content) {
    const { from, to, reason } = content.void
    // A gap marker that does not end at its own number is not one of ours: a dead letter.
    if (to === sequence) return { id, producer, sequence, body, record: null, from, to, gapReason: reason }
    return { id, producer, sequence, body, record: null, from: sequence, to: sequence, gapReason: null }
  }
  return { id, producer, sequence, body, record: content, from: sequence, to: sequence, gapReason: null }
}
