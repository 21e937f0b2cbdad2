import type { Logger } from '../../lib/logger.ts'

/** A clock that differs from Postgres's by more is named as wrong. */
export const CLOCK_OFF_MS = 1_000
/** It is right again only below this, so that one at the edge is not named again and again. */
const CLOCK_RIGHT_MS = 800
/** By more than this, the process takes the time from Postgres. */
export const CLOCK_FAR_MS = 60_000
/** So long after it was seen to be near, and so far ahead of then, the own clock is not asked again whether it is. */
const NEAR_FOR_MS = 1_000
/** A new reading replaces one of old when its round trip took at most this part of the old one's age longer. */
const AGED = 50

/** The readings of both clocks at one moment. */
interface Reading {
  readonly storeMs: number
  readonly ownMs: number
  /** That moment, by the monotonic clock. */
  readonly atMs: number
  /** Half of the round trip: Postgres's clock may have said it so much earlier or later. */
  readonly halfMs: number
}

export interface StoreClockOptions {
  readonly log: Logger
  readonly wallNow?: () => number
  readonly monotonicNow?: () => number
}

/**
 * The time of day in this process, held against Postgres's clock. Polls that exist anyway tell it what that clock said.
 * Within a minute the process goes by its own clock. Beyond, calls, budgets and reports are of the day that Postgres
 * has: no client, budget or check sees a call on another day.
 *
 * Who is right is known where one clock jumps and the other goes on evenly: a Postgres that jumps away from a clock
 * that agreed with it, as after a failover, is not followed.
 */
export class StoreClock {
  readonly #log: Logger
  readonly #wallNow: () => number
  readonly #monotonicNow: () => number
  /** The sharpest of the last readings; `null`: Postgres has not answered yet. */
  #reading: Reading | null = null
  #isOff = false
  #storeJumped = false
  /** By the own clock: it was near Postgres's then. */
  #nearAtMs = Number.POSITIVE_INFINITY

  constructor({
    log,
    wallNow = () => Date.now(),
    monotonicNow = () => performance.now(),
  }: StoreClockOptions) {
    this.#log = log
    this.#wallNow = wallNow
    this.#monotonicNow = monotonicNow
  }

  /** This clock and Postgres's differ by more than a second. */
  get isOff(): boolean {
    return this.#isOff
  }

  /** They differ by more than a minute, however long the last reading took. */
  get isFar(): boolean {
    const reading = this.#reading
    return reading !== null && this.#isFarBy(reading, this.#wallNow())
  }

  /** How far Postgres's clock is ahead of this process's; negative: behind. `null`: Postgres has not answered yet. */
  get offsetMs(): number | null {
    const reading = this.#reading
    return reading === null ? null : this.#storeNow(reading) - this.#wallNow()
  }

  /** The same, for others to know: a second at most where slow answers leave open whether the clocks differ by more. */
  get provenOffsetMs(): number | null {
    const offsetMs = this.offsetMs
    return offsetMs === null || this.#isOff
      ? offsetMs
      : Math.max(-CLOCK_OFF_MS, Math.min(CLOCK_OFF_MS, offsetMs))
  }

  /** The time to go by, milliseconds since 1970. Needs no `this`. */
  readonly now = (): number => {
    const wallMs = this.#wallNow()
    const reading = this.#reading
    if (reading === null || this.#storeJumped) return wallMs
    // Each call asks several times, and a second clock costs as much as this one.
    if (wallMs >= this.#nearAtMs && wallMs < this.#nearAtMs + NEAR_FOR_MS) return wallMs
    if (this.#isFarBy(reading, wallMs)) return Math.round(this.#storeNow(reading))
    this.#nearAtMs = wallMs
    return wallMs
  }

  /** Monotonic milliseconds, to be given to `learn` by who asks Postgres. */
  asks(): number {
    return this.#monotonicNow()
  }

  /**
   * @param storeMs What Postgres's clock said, milliseconds since 1970.
   * @param askedAtMs Of `asks`, before it was asked.
   */
  learn(storeMs: number, askedAtMs: number): void {
    const halfMs = (this.#monotonicNow() - askedAtMs) / 2
    const read = { storeMs, ownMs: this.#wallNow() - halfMs, atMs: askedAtMs + halfMs, halfMs }
    const kept = this.#reading
    if (kept === null || this.#isSharper(read, kept)) {
      if (kept !== null) this.#noticeJump(read, kept)
      this.#reading = read
      this.#nearAtMs = Number.POSITIVE_INFINITY
    }
    this.#judge()
  }

  #storeNow({ storeMs, atMs }: Reading): number {
    return storeMs + this.#monotonicNow() - atMs
  }

  #isFarBy(reading: Reading, wallMs: number): boolean {
    return Math.abs(this.#storeNow(reading) - wallMs) - reading.halfMs > CLOCK_FAR_MS
  }

  /** Or it says something else, so that one of the two is of a clock that jumped. */
  #isSharper(read: Reading, kept: Reading): boolean {
    const elapsedMs = read.atMs - kept.atMs
    const jumpMs = Math.abs(read.storeMs - kept.storeMs - elapsedMs)
    return read.halfMs <= kept.halfMs + elapsedMs / AGED || jumpMs > read.halfMs + kept.halfMs + CLOCK_OFF_MS
  }

  #noticeJump(read: Reading, kept: Reading): void {
    const elapsedMs = read.atMs - kept.atMs
    const storeJumpMs = Math.abs(read.storeMs - kept.storeMs - elapsedMs)
    const ownJumpMs = Math.abs(read.ownMs - kept.ownMs - elapsedMs)
    const agreed = Math.abs(kept.storeMs - kept.ownMs) <= CLOCK_FAR_MS
    if (agreed && storeJumpMs > CLOCK_FAR_MS && ownJumpMs < CLOCK_FAR_MS) this.#storeJumped = true
    else if (Math.abs(read.storeMs - read.ownMs) <= CLOCK_FAR_MS) this.#storeJumped = false
  }

  #judge(): void {
    const offsetMs = this.offsetMs ?? 0
    const halfMs = this.#reading?.halfMs ?? 0
    const away = Math.abs(offsetMs)
    const offsetSeconds = Math.round(offsetMs) / 1_000
    if (!this.#isOff && away - halfMs > CLOCK_OFF_MS) {
      this.#isOff = true
      this.#log.warn(
        { event: 'clock.off', offsetSeconds, storeJumped: this.#storeJumped },
        this.#complaint(away),
      )
    } else if (this.#isOff && away + halfMs < CLOCK_RIGHT_MS) {
      this.#isOff = false
      this.#log.info({ event: 'clock.right', offsetSeconds }, "the clock agrees with Postgres's again")
    }
  }

  #complaint(away: number): string {
    if (this.#storeJumped)
      return "Postgres's clock has jumped: this process goes on by its own, which has not"
    return away > CLOCK_FAR_MS
      ? "the clock differs from Postgres's: the days of calls are those of Postgres"
      : "the clock differs from Postgres's"
  }
}
