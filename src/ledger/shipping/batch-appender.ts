import type { JournalRow } from '../journal/journal.ts'
import type { StreamLink } from './stream/stream-link.ts'

/** In one batch at most. */
export const BATCH_ROWS = 500
const BATCH_ROWS_MIN = 8

/** Appends batches of one producer to its stream. Batches shrink while answers fail and grow again after. */
export class BatchAppender {
  readonly #link: StreamLink
  readonly #stream: string
  readonly #producer: string
  #maxRows = BATCH_ROWS

  constructor(link: StreamLink, stream: string, producer: string) {
    this.#link = link
    this.#stream = stream
    this.#producer = producer
  }

  /** How many records the next batch may have. */
  get maxRows(): number {
    return this.#maxRows
  }

  /** The ids of the rows that are on the stream, from the first on; none when the answer is not clear. */
  async append(rows: readonly Pick<JournalRow, 'sequence' | 'body'>[]): Promise<readonly string[]> {
    try {
      const ids = await this.#link.append(this.#stream, this.#producer, rows)
      this.#maxRows = Math.min(this.#maxRows * 2, BATCH_ROWS)
      return ids
    } catch {
      // The link logs it and connects again; a smaller batch may get through where this one took too long.
      this.#maxRows = Math.max(this.#maxRows >>> 1, BATCH_ROWS_MIN)
      return []
    }
  }
}
