/** While Redis is away it is asked this often. */
const RETRY_MS = 1_000

/** Whether Redis answers, for all clients of this process. */
export class RedisPresence {
  isAway = false
  /** Rises whenever it goes or comes back. */
  epoch = 1
  exchanges = 0
  failures = 0
  #triedAtMs = Number.NEGATIVE_INFINITY

  answered(): void {
    this.exchanges += 1
    if (!this.isAway) return
    this.isAway = false
    this.epoch += 1
  }

  failed(nowMs: number): void {
    this.exchanges += 1
    this.failures += 1
    this.#triedAtMs = nowMs
    if (this.isAway) return
    this.isAway = true
    this.epoch += 1
  }

  /** Whether it is time to ask again. */
  shouldTry(nowMs: number): boolean {
    if (!this.isAway || nowMs - this.#triedAtMs < RETRY_MS) return false
    this.#triedAtMs = nowMs
    return true
  }
}
