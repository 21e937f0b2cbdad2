import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Journal } from '../journal/journal.ts'
import type { BatchAppender } from './batch-appender.ts'
import type { ShippingProgress } from './shipping-progress.ts'

export interface GapFillerOptions {
  readonly journal: Pick<Journal, 'read'>
  readonly progress: ShippingProgress
  readonly appender: BatchAppender
  /** Bound of the bodies in one batch, but for its first record. */
  readonly maxBytes: number
}

/** Sends records again that workers recorded as gaps and that the journal still has. */
export class GapFiller {
  readonly #options: GapFillerOptions
  #gaps: readonly SequenceRange[] = []

  constructor(options: GapFillerOptions) {
    this.#options = options
  }

  /** No gap is left to fill. */
  get isDone(): boolean {
    return this.#gaps.length === 0
  }

  /** The gaps to fill from now on. */
  set(gaps: readonly SequenceRange[]): void {
    this.#gaps = gaps
  }

  /** Sends one batch of the first gap. Records that the journal lacks stay a gap. */
  async sendBatch(): Promise<void> {
    const [gap, ...later] = this.#gaps
    this.#gaps = later
    if (gap === undefined) return
    const { journal, progress, appender, maxBytes } = this.#options
    const rows = journal
      .read(gap.from - 1, appender.maxRows, maxBytes)
      .filter(({ sequence }) => sequence <= gap.to && sequence <= progress.committedOffset)
    const newest = rows.at(-1)
    if (newest === undefined) return
    const ids = await appender.append(rows)
    if (ids.length < rows.length) this.#gaps = [gap, ...this.#gaps]
    else if (newest.sequence < gap.to) this.#gaps = [{ from: newest.sequence + 1, to: gap.to }, ...this.#gaps]
  }
}
