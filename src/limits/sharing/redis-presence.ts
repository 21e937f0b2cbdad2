/** Redis is asked this often whether it is there, and whether it has lost something. */
const ASK_MS = 1_000
/** So long after Redis may have lost something, every gateway that runs has reported again what it holds. */
const SETTLE_MS = 1_500
/** It is asked once more so long after that, as it may have been another server than the others have found. */
const CONFIRM_MS = 500

/** Whether Redis answers, and what it knows can be believed, for all clients of this process. */
export class RedisPresence {
  isAway = false
  /** Rises whenever it goes or comes back. */
  epoch = 1
  exchanges = 0
  failures = 0
  /**
   * Monotonic milliseconds: since when nothing is known to have been lost. It is no earlier than the first answer, as
   * that may have come just after a loss.
   */
  wholeSinceMs = Number.POSITIVE_INFINITY
  /** Whether other gateways may run: a lone one has none to hear of. */
  #hasPeers = true
  /** When what Redis keeps began, by its clock; `null`: it has not said so yet. */
  #beganMs: number | null = null
  #askedAtMs = Number.NEGATIVE_INFINITY
  /** When it was asked what it answered last. */
  #confirmedAtMs = Number.NEGATIVE_INFINITY
  readonly #onLost: () => void

  /** @param onLost It was flushed: all has to be reported again, whichever answer shows that first. */
  constructor(onLost: () => void = () => {}) {
    this.#onLost = onLost
  }

  answered(): void {
    this.exchanges += 1
    if (!this.isAway) return
    this.isAway = false
    this.epoch += 1
  }

  failed(): void {
    this.exchanges += 1
    this.failures += 1
    if (this.isAway) return
    this.isAway = true
    this.epoch += 1
  }

  /** This process is the only gateway that has been heard of. */
  isAlone(): void {
    this.#hasPeers = false
    if (this.#beganMs !== null) this.wholeSinceMs = Number.NEGATIVE_INFINITY
  }

  /** The connection is another one: of a server that has begun again, perhaps, or has taken over. */
  reconnected(nowMs: number): void {
    if (this.wholeSinceMs !== Number.POSITIVE_INFINITY) this.wholeSinceMs = nowMs
  }

  /**
   * What Redis keeps began then, and so long ago.
   *
   * @param askedAtMs When it was asked that.
   */
  keeps(beganMs: number, ageMs: number, askedAtMs: number, nowMs: number): void {
    this.#confirmedAtMs = askedAtMs
    if (this.#beganMs === beganMs) return
    const isFirst = this.#beganMs === null
    this.#beganMs = beganMs
    if (isFirst) this.wholeSinceMs = this.#hasPeers ? nowMs : Number.NEGATIVE_INFINITY
    else {
      this.wholeSinceMs = Math.max(this.wholeSinceMs, nowMs - ageMs)
      this.#onLost()
    }
  }

  /** Whether all that gateways hold is known since then, so that more may be taken. */
  isSettled(sinceMs: number, nowMs: number): boolean {
    const lostAtMs = Math.max(this.wholeSinceMs, sinceMs)
    return nowMs >= lostAtMs + SETTLE_MS && this.#confirmedAtMs >= lostAtMs + CONFIRM_MS
  }

  /** Whether it is time to ask. */
  shouldAsk(nowMs: number): boolean {
    if (nowMs - this.#askedAtMs < ASK_MS) return false
    this.#askedAtMs = nowMs
    return true
  }
}
