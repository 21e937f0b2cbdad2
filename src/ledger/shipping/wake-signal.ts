/** Lets a loop sleep until there may be something to do. A wake that comes while the loop works is not lost. */
export class WakeSignal {
  #next = Promise.withResolvers<void>()

  /** Ends the sleep, or keeps the next one from beginning. */
  wake(): void {
    this.#next.resolve()
  }

  /** To be called before the loop searches for work: that search covers all wakes before this call. */
  reset(): void {
    this.#next = Promise.withResolvers()
  }

  /** Resolves at the first wake since `reset`, or after `limitMs`, which may be infinite. */
  async sleep(limitMs: number): Promise<void> {
    if (limitMs === Number.POSITIVE_INFINITY) return await this.#next.promise
    const timer = setTimeout(() => this.wake(), Math.max(limitMs, 1))
    await this.#next.promise
    clearTimeout(timer)
  }
}
