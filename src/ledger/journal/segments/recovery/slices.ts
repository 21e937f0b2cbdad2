/** Longer than this no reading of a log may hold the event loop. */
const SLICE_MS = 3
/** The clock is read once in so many steps. */
const STEPS = 64

/** Divides long work on the event loop, so that calls go on meanwhile. */
export class Slices {
  #startedAtMs = performance.now()
  #steps = 0

  /** To be asked between two steps. True: `pause` must be awaited. */
  get isDue(): boolean {
    if (++this.#steps % STEPS !== 0) return false
    return performance.now() - this.#startedAtMs > SLICE_MS
  }

  /** Lets the event loop run. */
  async pause(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#startedAtMs = performance.now()
  }
}
