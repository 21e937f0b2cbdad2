/** How long a connection may wait for what. 0: for ever. */
export interface WaitingLimits {
  /** For the connection, with its TLS. */
  readonly connectMs: number
  /** From the request to the head of its answer. */
  readonly headersMs: number
  /** From one piece of a body to the next. */
  readonly bodyMs: number
}

/** How much later than asked a limit may be noticed, at most twice. */
const TICK_MS = 250

/**
 * The time of a pool, in ticks: one timer for all connections, so that none is set or cleared for a request. A
 * tick that comes late counts once: while the process was busy, an answer may have come unread.
 */
export class PoolClock {
  #tick = 0
  #timer: NodeJS.Timeout | null = null
  readonly #connectTicks: number
  readonly #headersTicks: number
  readonly #bodyTicks: number

  constructor({ connectMs, headersMs, bodyMs }: WaitingLimits) {
    this.#connectTicks = ticksOf(connectMs)
    this.#headersTicks = ticksOf(headersMs)
    this.#bodyTicks = ticksOf(bodyMs)
  }

  get isRunning(): boolean {
    return this.#timer !== null
  }

  /** The tick at which a wait that begins now has been too long. */
  deadlineIn(wait: 'connect' | 'headers' | 'body'): number {
    if (wait === 'body') return this.#tick + this.#bodyTicks
    return this.#tick + (wait === 'headers' ? this.#headersTicks : this.#connectTicks)
  }

  start(onTick: (tick: number) => void): void {
    if (this.#timer !== null) return
    this.#timer = setInterval(() => {
      this.#tick += 1
      onTick(this.#tick)
    }, TICK_MS).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }
}

/** One more, since a wait begins within a tick: it must not be cut short. */
function ticksOf(ms: number): number {
  return ms === 0 ? Number.POSITIVE_INFINITY : Math.ceil(ms / TICK_MS) + 1
}
