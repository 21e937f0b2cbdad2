/** How many calls go on without their client, and for how long. */
export interface UnattendedLimits {
  /** For an answer whose generated part has passed: its usage follows at once, unless the upstream pauses. */
  readonly usageMs: number
  /**
   * For an answer whose tokens only the upstream can count: the longest reasoning known. Silence ends it
   * sooner.
   */
  readonly answerMs: number
  /** For all of them once the process stops: their records must be written before its supervisor kills it. */
  readonly stoppingMs: number
  /** Each holds an upstream connection and some 100 KiB. */
  readonly maxInAll: number
  /** So that one client cannot take the places of all. */
  readonly maxPerClient: number
}

export const UNATTENDED_LIMITS: UnattendedLimits = {
  usageMs: 10_000,
  answerMs: 1_800_000,
  stoppingMs: 2_000,
  maxInAll: 1_000,
  maxPerClient: 100,
}

interface Entry {
  readonly clientId: string
  readonly stop: () => void
  timer: NodeJS.Timeout
}

/**
 * The calls and sessions of a process that are read on without their client, for usage that is still to come.
 */
export class Unattended {
  readonly limits: UnattendedLimits
  readonly #entries = new Set<Entry>()
  readonly #byClient = new Map<string, number>()
  #waiting: (() => void)[] = []
  #isStopping = false

  constructor(limits: Partial<UnattendedLimits> = {}) {
    this.limits = { ...UNATTENDED_LIMITS, ...limits }
  }

  get count(): number {
    return this.#entries.size
  }

  /**
   * Lets a call of `clientId` go on for `ms` at most; then `stop` is called, once.
   * @returns call it when the call has ended by itself; `null`: too many go on already
   */
  admit(clientId: string, ms: number, stop: () => void): (() => void) | null {
    const ofClient = this.#byClient.get(clientId) ?? 0
    if (ofClient >= this.limits.maxPerClient || this.#entries.size >= this.limits.maxInAll) return null
    const allowedMs = this.#isStopping ? Math.min(ms, this.limits.stoppingMs) : ms
    const entry: Entry = { clientId, stop, timer: setTimeout(() => this.#stop(entry), allowedMs) }
    this.#entries.add(entry)
    this.#byClient.set(clientId, ofClient + 1)
    return () => this.#delete(entry)
  }

  /** Resolves when none is left. */
  idle(): Promise<void> {
    if (this.#entries.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /**
   * The process stops: all that go on, and those still to come, have {@link UnattendedLimits.stoppingMs}
   * left.
   */
  beginStop(): void {
    this.#isStopping = true
    for (const entry of this.#entries) {
      clearTimeout(entry.timer)
      entry.timer = setTimeout(() => this.#stop(entry), this.limits.stoppingMs)
    }
  }

  #stop(entry: Entry): void {
    this.#delete(entry)
    entry.stop()
  }

  #delete(entry: Entry): void {
    if (!this.#entries.delete(entry)) return
    clearTimeout(entry.timer)
    const left = (this.#byClient.get(entry.clientId) ?? 1) - 1
    if (left === 0) this.#byClient.delete(entry.clientId)
    else this.#byClient.set(entry.clientId, left)
    if (this.#entries.size > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
