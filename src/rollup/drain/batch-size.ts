import { MAX_TOTALLED } from '../../usage/total-by-day.ts'

/** Aimed at for a transaction under load: long enough to be cheap, short enough for the rows that it locks. */
const TRANSACTION_MS = 150
/** A smaller batch costs more for each entry than it saves in time: many of its rows are written again by the next. */
const FEWEST = 2_000
/** How much a transaction's time says about the next one's. */
const WEIGHT = 0.3

/** How many entries the next transaction takes at most, from how long the last ones took. */
export class BatchSize {
  readonly #most: number
  #msPerEntry: number | null = null

  constructor(most = MAX_TOTALLED) {
    this.#most = most
  }

  get entries(): number {
    if (this.#msPerEntry === null) return Math.min(FEWEST, this.#most)
    return Math.min(Math.max(Math.floor(TRANSACTION_MS / this.#msPerEntry), FEWEST), this.#most)
  }

  /** A small batch says nothing: its time is that of the statements, whatever is in them. */
  took(entries: number, ms: number): void {
    if (entries < Math.min(FEWEST, this.#most)) return
    const msPerEntry = ms / entries
    this.#msPerEntry =
      this.#msPerEntry === null ? msPerEntry : this.#msPerEntry + WEIGHT * (msPerEntry - this.#msPerEntry)
  }
}
