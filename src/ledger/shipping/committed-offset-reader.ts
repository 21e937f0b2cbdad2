import type { LedgerDatabase } from '../ledger-database.ts'

export interface CommittedOffsetReaderOptions {
  readonly database: Pick<LedgerDatabase, 'readCommittedOffsets'>
  /** The producers whose offsets are wanted now. */
  readonly producers: () => readonly { readonly id: string; onCommitted(committedOffset: number): void }[]
}

/**
 * Reads committed offsets from Postgres, one read at a time, all producers in each. So the answers come in the order in
 * which they were true, and a lower offset than before proves that Postgres was restored.
 */
export class CommittedOffsetReader {
  readonly #options: CommittedOffsetReaderOptions
  #running: Promise<unknown> | null = null
  #next: Promise<ReadonlyMap<string, number>> | null = null

  constructor(options: CommittedOffsetReaderOptions) {
    this.#options = options
  }

  /** A read that begins after this call; other callers meanwhile share it. Rejects when Postgres does not answer. */
  async readAll(): Promise<void> {
    await this.#read()
  }

  /** One producer's committed offset at some moment after this call. Rejects when Postgres does not answer. */
  async read(producer: string): Promise<number> {
    const committedOffset = (await this.#read()).get(producer)
    if (committedOffset === undefined)
      throw new Error(`the committed offset of ${producer} was not asked for`)
    return committedOffset
  }

  #read(): Promise<ReadonlyMap<string, number>> {
    this.#next ??= this.#afterRunning()
    return this.#next
  }

  async #afterRunning(): Promise<ReadonlyMap<string, number>> {
    await this.#running?.catch(() => {})
    const reading = this.#readNow()
    this.#running = reading
    this.#next = null
    return await reading
  }

  async #readNow(): Promise<ReadonlyMap<string, number>> {
    const { database, producers } = this.#options
    const asked = producers().map(({ id }) => id)
    const rows = await database.readCommittedOffsets(asked)
    const offsets = new Map(asked.map((id) => [id, rows.get(id) ?? 0])) // Without a row nothing is committed.
    for (const producer of producers()) {
      const committedOffset = offsets.get(producer.id)
      if (committedOffset !== undefined) producer.onCommitted(committedOffset)
    }
    return offsets
  }
}

/** A committed offset as read from Postgres, at a time of the monotonic clock. */
export interface OffsetReading {
  readonly atMs: number
  readonly committedOffset: number
}

/** So many readings give the age of an offset to a sixteenth of the keep time. */
export const READINGS = 16

/**
 * `history`, oldest first, with one more reading. A reading lower than an earlier one means that Postgres was restored,
 * and how far is not known: it may have moved forward again already. The keep time then starts again for everything.
 */
export function withReading(
  history: readonly OffsetReading[],
  reading: OffsetReading,
  keepMs: number,
): readonly OffsetReading[] {
  if (history.some(({ committedOffset }) => committedOffset > reading.committedOffset)) return [reading]
  const oldEnough = history.findLastIndex(({ atMs }) => atMs <= reading.atMs - keepMs)
  const needed = history.slice(Math.max(oldEnough, 0))
  const newest = needed.at(-1)
  if (newest !== undefined && reading.atMs - newest.atMs < keepMs / READINGS) return needed
  return [...needed, reading]
}

/**
 * The highest record that may be deleted: at or under every offset read in the last `keepMs`, and under one read
 * before that. 0: none.
 *
 * @param latest the newest reading, whether or not it is in `history`.
 */
export function prunableUpTo(
  history: readonly OffsetReading[],
  latest: OffsetReading,
  keepMs: number,
): number {
  const old = history.findLast(({ atMs }) => atMs <= latest.atMs - keepMs)
  return old === undefined ? 0 : Math.min(old.committedOffset, latest.committedOffset)
}

/**
 * Up to where everything is in the totals, as far as this journal can still help: under the first recorded gap that it
 * has records of. Those are sent again, and what fills a gap must then be kept like the rest.
 *
 * @param held gaps that the journal has records of, read after the committed offset.
 */
export function countedTo(committedOffset: number, held: readonly { readonly from: number }[]): number {
  return Math.min(committedOffset, ...held.map(({ from }) => from - 1))
}
