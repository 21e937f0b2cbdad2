import type { KeyOwner } from '../../call/call-ports.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import type { Logger } from '../../lib/logger.ts'

/** A call that was refused. '' stands for what is not known of it, or is not why. */
export interface RefusedCall {
  readonly clientId: string
  readonly keyId: string
  readonly model: string
  readonly limitId: string
  readonly reason: string
}

/** Refused calls of one sort on a UTC day. */
export interface RefusalCount extends RefusedCall {
  readonly day: string
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
/** Some 200 bytes each. */
const MAX_KEPT = 20_000
/** Clients choose the names of models: so many of a client and day are kept apart by a process. */
const MODELS_PER_CLIENT_AND_DAY = 50
/** In parentheses, as no model is named so. */
const OTHER_MODELS = '(other)'

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
  /** Of the day, by client. */
  #models = new Map<string, Set<string>>()
  #day = ''
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

  count(refused: RefusedCall): void {
    const { reason, clientId, model } = refused
    this.#totals.set(reason, (this.#totals.get(reason) ?? 0) + 1)
    const day = this.#today()
    this.#keep(day, { ...refused, model: this.#boundedModel(clientId, model) }, 1)
  }

  /** Counts a request whose client is not known, or may not call, which `totals` leaves out. */
  countUnknown(reason: string, owner: KeyOwner | null): void {
    const { clientId, keyId } = owner ?? { clientId: '', keyId: '' }
    this.#keep(this.#today(), { clientId, keyId, model: '', limitId: '', reason }, 1)
  }

  /** Adds what is left, if the store takes it. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#adding
    await this.#flush()
  }

  #today(): string {
    const day = utcDayOf(this.#options.now())
    if (day !== this.#day) this.#models.clear()
    this.#day = day
    return day
  }

  #boundedModel(clientId: string, model: string): string {
    if (model === '') return model
    const models = this.#models.get(clientId) ?? new Set()
    this.#models.set(clientId, models)
    if (models.size < MODELS_PER_CLIENT_AND_DAY) models.add(model)
    return models.has(model) ? model : OTHER_MODELS
  }

  #keep(day: string, { clientId, keyId, model, limitId, reason }: RefusedCall, calls: number): void {
    const name = [day, clientId, keyId, model, limitId, reason].join('\0')
    const known = this.#kept.get(name)
    if (known !== undefined) known.calls += calls
    else if (this.#kept.size < (this.#options.maxKept ?? MAX_KEPT))
      this.#kept.set(name, { day, clientId, keyId, model, limitId, reason, calls })
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
      for (const count of counts) this.#keep(count.day, count, count.calls)
    }
  }
}
