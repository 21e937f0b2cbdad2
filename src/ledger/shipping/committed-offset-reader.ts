import { withinDeadline } from '../../lib/deadline.ts'

/** Longer than any read of a healthy Postgres; a frozen one counts as away. */
const READ_LIMIT_MS = 5_000

export interface CommittedOffsetReaderOptions {
  /** Rejects when Postgres is away; a producer without a row is absent. */
  readonly readCommittedOffsets: (producers: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /** The producers whose marks are wanted now. */
  readonly producers: () => readonly string[]
  /** Told of each producer's mark, 0 without a row, in the order of the reads. */
  readonly onCommitted: (producer: string, committedOffset: number) => void
}

/**
 * Reads marks from Postgres, one read at a time, all producers in each: so that marks are learned in the order in
 * which they were true, and one that is lower than the one before means that Postgres went back.
 */
export class CommittedOffsetReader {
  readonly #options: CommittedOffsetReaderOptions
  #running: Promise<unknown> | null = null
  #next: Promise<ReadonlyMap<string, number>> | null = null

  constructor(options: CommittedOffsetReaderOptions) {
    this.#options = options
  }

  /** A read that begins after this call; those who ask meanwhile share it. Rejects when Postgres is away. */
  async readAll(): Promise<void> {
    await this.#read()
  }

  /** One producer's mark at some moment after this call. Rejects when Postgres is away. */
  async read(producer: string): Promise<number> {
    const committedOffset = (await this.#read()).get(producer)
    if (committedOffset === undefined) throw new Error(`the mark of ${producer} was not asked for`)
    return committedOffset
  }

  #read(): Promise<ReadonlyMap<string, number>> {
    this.#next ??= this.#afterRunning()
    return this.#next
  }

  async #afterRunning(): Promise<ReadonlyMap<string, number>> {
    const { readCommittedOffsets, producers, onCommitted } = this.#options
    await this.#running?.catch(() => {})
    const reading = (async () => {
      const asked = producers()
      const rows = await withinDeadline(readCommittedOffsets(asked), READ_LIMIT_MS)
      const committedOffsets = new Map(asked.map((producer) => [producer, rows.get(producer) ?? 0]))
      for (const [producer, committedOffset] of committedOffsets) onCommitted(producer, committedOffset)
      return committedOffsets
    })()
    this.#running = reading
    this.#next = null
    return await reading
  }
}
