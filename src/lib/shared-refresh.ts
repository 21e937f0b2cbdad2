/**
 * Shares one refresh among concurrent callers: at most one runs, and two never begin within `spacingMs`. A
 * caller gets the result of a refresh that began after its call, and so sees everything before it.
 */
export class SharedRefresh<Result> {
  readonly #run: () => Promise<Result>
  readonly #spacingMs: number
  /** The refresh that has not begun yet. */
  #next: PromiseWithResolvers<Result> | null = null
  #running: Promise<void> | null = null
  #startedAtMs = Number.NEGATIVE_INFINITY

  /** `run` must not reject. */
  constructor(run: () => Promise<Result>, spacingMs: number) {
    this.#run = run
    this.#spacingMs = spacingMs
  }

  request(): Promise<Result> {
    if (this.#next === null) {
      this.#next = Promise.withResolvers<Result>()
      if (this.#running === null) this.#schedule()
    }
    return this.#next.promise
  }

  /** Resolves when the refresh under way, if any, has ended. */
  async settled(): Promise<void> {
    await this.#running
  }

  #schedule(): void {
    const waitMs = this.#startedAtMs + this.#spacingMs - performance.now()
    setTimeout(
      () => {
        // A timer counts from the beginning of the event loop's turn, so it fires early after a long turn.
        if (performance.now() < this.#startedAtMs + this.#spacingMs) this.#schedule()
        else this.#running = this.#begin()
      },
      Math.max(0, Math.ceil(waitMs)),
    )
  }

  async #begin(): Promise<void> {
    const waiting = this.#next
    this.#next = null
    this.#startedAtMs = performance.now()
    const result = await this.#run()
    this.#running = null
    waiting?.resolve(result)
    if (this.#next !== null) this.#schedule()
  }
}
