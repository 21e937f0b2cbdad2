/** What decoders give beyond the usual, all of this process together: 64 MiB a second. */
const SLICE_MS = 10
const SLICE_BYTES = 640 * 1024
/** A decoder gives so much at a time. */
const CHUNK_BYTES = 16 * 1024

/**
 * Spreads over time what decoders give beyond the usual. A few bytes may stand for 64 MiB, and reading that at once would
 * hold up the calls of all others.
 */
export class OutputPace {
  #left = SLICE_BYTES
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | null = null

  /**
   * Counts bytes that a decoder gave.
   *
   * @returns Whether it may go on; else `goOn` is called once it may.
   */
  spend(bytes: number, goOn: () => void): boolean {
    this.#left -= bytes
    this.#timer ??= setInterval(() => this.#nextSlice(), SLICE_MS)
    if (this.#left > 0) return true
    this.#waiting.add(goOn)
    return false
  }

  /** Its decoder waits no longer. */
  drop(goOn: () => void): void {
    this.#waiting.delete(goOn)
  }

  #nextSlice(): void {
    this.#left = Math.min(SLICE_BYTES, this.#left + SLICE_BYTES)
    if (this.#left === SLICE_BYTES && this.#waiting.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
    let promised = 0
    for (const goOn of this.#waiting) {
      if (promised >= this.#left) return
      promised += CHUNK_BYTES
      this.#waiting.delete(goOn)
      goOn()
    }
  }
}
