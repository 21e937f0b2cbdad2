/** A journal that cannot be adopted now is tried again, less and less often. */
const RETRY_MIN_MS = 5_000
const RETRY_MAX_MS = 300_000

/** When each producer's journal may be tried again. By the monotonic clock. */
export class RetryTimes {
  readonly #times = new Map<string, { readonly atMs: number; readonly delayMs: number }>()

  /** Tells whether the journal may be tried now. */
  isDue(producer: string): boolean {
    return performance.now() >= (this.#times.get(producer)?.atMs ?? 0)
  }

  /** A try failed. Returns the milliseconds until the next one. */
  postpone(producer: string): number {
    const delayMs = this.#times.get(producer)?.delayMs ?? RETRY_MIN_MS
    const nextDelayMs = Math.min(delayMs * 2, RETRY_MAX_MS)
    this.#times.set(producer, { atMs: performance.now() + delayMs, delayMs: nextDelayMs })
    return delayMs
  }

  /** Only something outside can change what was found: the longest time passes before the next try. */
  postponeLong(producer: string): void {
    this.#times.set(producer, { atMs: performance.now() + RETRY_MAX_MS, delayMs: RETRY_MAX_MS })
  }

  clear(producer: string): void {
    this.#times.delete(producer)
  }

  /** Drops the times of all producers but these. */
  keepOnly(producers: readonly string[]): void {
    for (const producer of this.#times.keys()) if (!producers.includes(producer)) this.#times.delete(producer)
  }
}
