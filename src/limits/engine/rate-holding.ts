import type { Limit } from '../limit.ts'
import { SlidingWindow } from './sliding-window.ts'
import { WaitingLine } from './waiting-line.ts'

/** What the other gateways hold of a limit, as last reported. */
export interface OthersRate {
  /** What they may use together, and what they use. */
  readonly held: number
  readonly used: number
  /** Of that, what running calls may use. */
  readonly pending: number
  /** Milliseconds until all that they use is over. */
  readonly resetMs: number
  /** One of them has a call that waits, and no more may be held in reserve. */
  readonly wants: boolean
  /** How many they are that still report. */
  readonly gateways: number
}

export const NO_OTHERS_RATE: OthersRate = {
  held: 0,
  used: 0,
  pending: 0,
  resetMs: 0,
  wants: false,
  gateways: 0,
}

/** A limit on requests or tokens a minute, or on calls at once, as this gateway holds it. */
export class RateHolding {
  readonly limitId: string
  readonly kind: 'requests' | 'tokens' | 'concurrent'
  limit: Limit
  /** As of the last check of the clock: it may be raised for a while. */
  amount: number
  /** `null`: of calls at once. */
  readonly window: SlidingWindow | null
  /** Of tokens: what running calls may use, a part of `window`. */
  readonly #pending: SlidingWindow | null
  /** Calls at once. */
  running = 0
  /** This gateway may use so much without asking: what Redis has confirmed, and what holds meanwhile. */
  confirmed = 0
  ceiling = 0
  /** Above this more is asked for, before it is needed. */
  lowAt = 0
  readonly waiting = new WaitingLine()
  others: OthersRate = NO_OTHERS_RATE

  constructor(limit: Limit, amount: number) {
    this.limitId = limit.id
    this.kind = limit.kind === 'requests' || limit.kind === 'tokens' ? limit.kind : 'concurrent'
    this.limit = limit
    this.amount = amount
    this.window = this.kind === 'concurrent' ? null : new SlidingWindow()
    this.#pending = this.kind === 'tokens' ? new SlidingWindow() : null
  }

  /** Brings in the limit of now: of one that was lowered less is held at once, also while Redis is away. */
  setAmount(amount: number): void {
    this.amount = amount
    this.ceiling = Math.min(this.ceiling, amount)
    this.confirmed = Math.min(this.confirmed, amount)
  }

  /** Redis has taken it. */
  confirm(ceiling: number, lowAt: number): void {
    this.confirmed = Math.min(ceiling, this.amount)
    this.ceiling = this.confirmed
    this.lowAt = lowAt
  }

  used(nowMs: number): number {
    return this.window === null ? this.running : this.window.used(nowMs)
  }

  /** What of `used` is only expected of calls that run still. */
  pending(nowMs: number): number {
    return this.#pending === null ? 0 : Math.min(this.#pending.used(nowMs), this.used(nowMs))
  }

  /** What all gateways have used, as far as this one knows, running calls not included. */
  settled(nowMs: number): number {
    return this.used(nowMs) - this.pending(nowMs) + this.others.used - this.others.pending
  }

  /** What a call takes of it. One that needs more than the whole limit takes the whole of it: else it could never run. */
  needOf(estimatedTokens: number): number {
    return this.kind === 'tokens' ? Math.min(countOf(estimatedTokens), this.amount) : 1
  }

  /** Returns the bucket of the use, for `giveBack` and `correct`. */
  take(amount: number, nowMs: number): number {
    if (this.#pending !== null) this.#pending.add(nowMs, amount)
    if (this.window !== null) return this.window.add(nowMs, amount)
    this.running += amount
    return 0
  }

  giveBack(amount: number, bucket: number): void {
    if (this.#pending !== null) this.#pending.correct(bucket, -amount)
    if (this.window !== null) this.window.correct(bucket, -amount)
    else this.running -= amount
  }

  /** The call used `used` where it had taken `amount`. */
  settle(amount: number, used: number, bucket: number, nowMs: number): void {
    if (this.window === null) return
    this.window.used(nowMs)
    this.window.correct(bucket, used - amount)
    if (this.#pending === null) return
    this.#pending.used(nowMs)
    this.#pending.correct(bucket, -amount)
  }

  /** What is left for all gateways together, as far as this one knows. */
  left(nowMs: number): number {
    return Math.max(0, this.amount - this.others.used - this.used(nowMs))
  }

  /** Milliseconds until `amount` more are free, if no call comes, and running calls use nothing. */
  retryMs(amount: number, nowMs: number): number {
    if (this.window === null) return 0
    const excess = this.settled(nowMs) + amount - this.amount
    return (
      this.window.freesMs(excess, nowMs, this.#pending) ??
      Math.max(this.window.resetMs(nowMs), this.others.resetMs)
    )
  }

  resetMs(nowMs: number): number {
    return this.window === null ? 0 : Math.max(this.window.resetMs(nowMs), this.others.resetMs)
  }
}

/** A count as arithmetic can use it, whatever was estimated or reported. */
export function countOf(value: number): number {
  return value > 0 ? Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER / 1_000_000) : 0
}
