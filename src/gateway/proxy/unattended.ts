/** How many calls go on without their client before new ones are refused, and for how long they go on. */
export interface UnattendedLimits {
  /** For an answer whose generated part has passed: its usage follows at once, unless the upstream pauses. */
  readonly usageMs: number
  /** For sessions, and answers on unknown paths: some of them never end by themselves. */
  readonly answerMs: number
  /** For a session whose client sent a close frame, while its upstream is silent. Clients wait for 10 s or more. */
  readonly closeMs: number
  /** For all of them once the process stops: their records must be written before its supervisor kills it. */
  readonly stoppingMs: number
  /** Each holds an upstream connection and some 100 KiB. Above it, clients with more than their share are refused. */
  readonly maxInAll: number
  /** So that one client cannot take the places of all. */
  readonly maxPerClient: number
  /** What a client may have at any time, however many others have some. */
  readonly minPerClient: number
}

export const UNATTENDED_LIMITS: UnattendedLimits = {
  usageMs: 10_000,
  answerMs: 1_800_000,
  closeMs: 5_000,
  stoppingMs: 2_000,
  maxInAll: 1_000,
  maxPerClient: 100,
  minPerClient: 10,
}

interface Entry {
  readonly clientId: string
  readonly stop: () => void
  timer: NodeJS.Timeout | null
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
   * Lets a call of `clientId` go on for `ms` at most; then `stop` is called, once. However many there are: what was
   * begun is paid for, and ending it would only hide how much.
   *
   * @param ms `null`: until it ends by itself, or its upstream is silent for too long
   * @returns call it when the call has ended by itself
   */
  admit(clientId: string, ms: number | null, stop: () => void): () => void {
    const { stoppingMs } = this.limits
    const allowedMs = this.#isStopping ? Math.min(ms ?? stoppingMs, stoppingMs) : ms
    const entry: Entry = { clientId, stop, timer: null }
    if (allowedMs !== null) entry.timer = setTimeout(() => this.#stop(entry), allowedMs)
    this.#entries.add(entry)
    this.#byClient.set(clientId, (this.#byClient.get(clientId) ?? 0) + 1)
    return () => this.#delete(entry)
  }

  /**
   * Whether so many calls of the client go on that it gets no new ones.
   *
   * @param isFetch it only fetches what was made: of these twice as many go on, as results are read on, too.
   */
  isFull(clientId: string, isFetch: boolean): boolean {
    const { maxPerClient, minPerClient, maxInAll } = this.limits
    const ofClient = this.#byClient.get(clientId) ?? 0
    if (isFetch) return ofClient >= 2 * maxPerClient
    if (ofClient >= maxPerClient) return true
    if (this.#entries.size < maxInAll) return false
    return ofClient > Math.max(minPerClient, maxInAll / this.#byClient.size)
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
      if (entry.timer !== null) clearTimeout(entry.timer)
      entry.timer = setTimeout(() => this.#stop(entry), this.limits.stoppingMs)
    }
  }

  #stop(entry: Entry): void {
    this.#delete(entry)
    entry.stop()
  }

  #delete(entry: Entry): void {
    if (!this.#entries.delete(entry)) return
    if (entry.timer !== null) clearTimeout(entry.timer)
    const left = (this.#byClient.get(entry.clientId) ?? 1) - 1
    if (left === 0) this.#byClient.delete(entry.clientId)
    else this.#byClient.set(entry.clientId, left)
    if (this.#entries.size > 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
