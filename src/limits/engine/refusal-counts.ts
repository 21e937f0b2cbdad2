import { utcDayOf } from '../../domain/utc-day.ts'
import type { Logger } from '../../lib/logger.ts'

/** Refused calls of one client on a UTC day, for one reason. */
export interface RefusalCount {
  readonly day: string
  readonly clientId: string
  readonly reason: string
  calls: number
}

export interface RefusalCountsOptions {
  /** Adds counts to those at rest. Rejects when the store is away. */
  readonly add: (counts: readonly RefusalCount[]) => Promise<void>
  readonly log: Logger
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly intervalMs?: number
  /** Sorts of refusals that are kept for a store that is away. */
  readonly maxKept?: number
}

const INTERVAL_MS = 10_000
/** Some 100 bytes each. */
const MAX_KEPT = 20_000

/**
 * Calls that were refused before they went upstream: they are in no totals. Kept in memory, and added
 * to Postgres now and then. A crash loses the counts of some seconds, and an answer that is lost adds them twice: no
 * cost depends on them.
 */
export class RefusalCounts {
  readonly #options: RefusalCountsOptions
  readonly #timer: NodeJS.Timeout
  readonly #totals = new Map<string, number>()
  #kept = new Map<string, RefusalCount>()
  #adding: Promise<void> | null = null
  #isAway = false

  constructor(options: RefusalCountsOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#flush(), options.intervalMs ?? INTERVAL_MS).unref()
  }

  /** By reason, since the start. Reasons are names of ours, so there are few. */
  get totals(): ReadonlyMap<string, number> {
    return this.#totals
  }

  count(clientId: string, reason: string): void {
    this.#totals.set(reason, (this.#totals.get(reason) ?? 0) + 1)
    this.#keep(utcDayOf(this.#options.now()), clientId, reason, 1)
  }

  /** Adds what is left, if the store takes it. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#adding
    await this.#flush()
  }

  #keep(day: string, clientId: string, reason: string, calls: number): void {
    const name = `${day} ${clientId} ${reason}`
    const known = this.#kept.get(name)
    if (known !== undefined) known.calls += calls
    else if (this.#kept.size < (this.#options.maxKept ?? MAX_KEPT))
      this.#kept.set(name, { day, clientId, reason, calls })
  }

  /** Never rejects. */
  #flush(): Promise<void> {
    this.#adding ??= this.#addKept().finally(() => {
      this.#adding = null
    })
    return this.#adding
  }

  async #addKept(): Promise<void> {
    if (this.#kept.size === 0) return
    const { add, log } = this.#options
    const counts = [...this.#kept.values()]
    this.#kept = new Map()
    try {
      await add(counts)
      this.#isAway = false
    } catch (err) {
      if (!this.#isAway)
        log.warn({ event: 'limits.refusals_not_saved', err }, 'counts of refused calls wait in memory')
      this.#isAway = true
      for (const { day, clientId, reason, calls } of counts) this.#keep(day, clientId, reason, calls)
    }
  }
}
