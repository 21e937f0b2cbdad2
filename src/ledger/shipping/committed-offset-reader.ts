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
