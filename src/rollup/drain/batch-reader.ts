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
  /** Entries of another database: they stay where they are, and its workers count them. */
  readonly foreign: number
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
/**
 * Text of a batch, in characters: it ends with the command that reaches it. A usual entry has 800, so this bounds the
 * memory of what is unusual: each of the two batches takes some four times that, parsed and as statements.
 */
const MOST_TEXT = 32 * 1024 * 1024

/** Reads a stream from its beginning, one batch after the other, on a connection of its own. */
export class BatchReader {
  readonly #redis: Redis
  readonly #stream: string
  readonly #databaseId: string | null
  readonly #signal: AbortSignal
  readonly #mostText: number
  #cursor = STREAM_START
  /** Counts restarts: a reading under way since before the last one is of no use any more. */
  #round = 0

  /** @param databaseId the identity of the database that is counted in; `null`: entries of all databases are read. */
  constructor(
    redis: Redis,
    stream: string,
    databaseId: string | null,
    signal: AbortSignal,
    mostText = MOST_TEXT,
  ) {
    this.#redis = redis
    this.#stream = stream
    this.#databaseId = databaseId
    this.#signal = signal
    this.#mostText = mostText
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
    const parsed: ParsedEntries = { candidates: [], corrupt: [], foreign: 0, newer: false, text: 0 }
    let entries = 0
    for (;;) {
      const count = Math.min(READ_AT_A_TIME, most - entries)
      const limit = { count, blockMs: entries === 0 ? blockMs : 0, signal: this.#signal }
      const read = await readEntries(this.#redis, this.#stream, this.#cursor, limit)
      // Discarded: it was restarted.
      if (round !== this.#round) return batchOf(parsed, entries, true)
      entries += read.length
      this.#cursor = read.at(-1)?.id ?? this.#cursor
      parseEntries(read, this.#databaseId, parsed)
      const atTheEnd = read.length < count
      const isFull = entries >= most || parsed.text >= this.#mostText
      if (atTheEnd || parsed.newer || isFull || this.#signal.aborted)
        return batchOf(parsed, entries, atTheEnd)
    }
  }
}

interface ParsedEntries {
  readonly candidates: Candidate[]
  readonly corrupt: string[]
  foreign: number
  newer: boolean
  /** Characters of their bodies. */
  text: number
}

function batchOf({ text: _, ...parsed }: ParsedEntries, entries: number, atTheEnd: boolean): ReadBatch {
  return { ...parsed, entries, atTheEnd }
}

/** Adds to `parsed`. Where an entry of a later release is met, nothing of these counts, in whatever order they came. */
function parseEntries(
  entries: readonly StreamEntry[],
  databaseId: string | null,
  parsed: ParsedEntries,
): void {
  const { candidates, corrupt } = parsed
  const before = candidates.length
  for (const { id, fields } of entries) {
    const entry = parseEntry(fields)
    switch (entry.kind) {
      case 'newer':
        candidates.length = before
        parsed.newer = true
        return
      case 'corrupt':
        corrupt.push(id)
        break
      case 'entry':
        parsed.text += entry.body.length
        if (entry.database !== null && databaseId !== null && entry.database !== databaseId)
          parsed.foreign += 1
        else candidates.push(candidateOf(id, entry.producer, entry.sequence, entry.body))
        break
      default:
        entry satisfies never
    }
  }
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

/** Aimed at for a transaction under load: long enough to be cheap, short enough for the rows that it locks. */
const TRANSACTION_MS = 150
/** The same while more waits: the newest entries are late by far more, and on a busy machine the more is saved. */
const BACKLOG_MS = 3_000
/** A smaller batch costs more for each entry than it saves in time: many of its rows are written again by the next. */
const FEWEST = 2_000
/** As many as Postgres takes in that time on a usual machine. */
const MOST = 4_096
/**
 * Under a backlog a batch takes up to so many times the entries: calls of many clients share hardly a row
 * among 4,096, and each batch writes all of theirs again. It also bounds memory: 32,768 usual entries are 26 MB.
 */
const GROWTH = 8
/** How much a transaction's time says about the next one's. */
const WEIGHT = 0.3

/** How many entries the next transaction takes at most, from how long the last ones took and whether more waits. */
export class BatchSize {
  readonly #most: number
  #msPerEntry: number | null = null
  #growth = 1

  constructor(most = MOST * GROWTH) {
    this.#most = most
  }

  get entries(): number {
    if (this.#msPerEntry === null) return Math.min(FEWEST, this.#most)
    const ms = this.#growth === 1 ? TRANSACTION_MS : BACKLOG_MS
    const fitting = Math.floor(ms / this.#msPerEntry)
    return Math.min(Math.max(fitting, FEWEST), MOST * this.#growth, this.#most)
  }

  /**
   * A small batch says nothing: its time is that of the statements, whatever is in them.
   *
   * @param moreWaits Behind it. Each such batch doubles the next one, the first without ends that.
   */
  took(entries: number, ms: number, moreWaits: boolean): void {
    this.#growth = moreWaits ? Math.min(this.#growth * 2, GROWTH) : 1
    if (entries < Math.min(FEWEST, this.#most)) return
    const msPerEntry = ms / entries
    this.#msPerEntry =
      this.#msPerEntry === null ? msPerEntry : this.#msPerEntry + WEIGHT * (msPerEntry - this.#msPerEntry)
  }
}
