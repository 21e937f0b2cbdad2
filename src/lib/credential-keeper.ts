import { type CallLater, callLater } from './call-later.ts'
import { settledWithin, withinDeadline } from './deadline.ts'

/** A fetched value, and until when it is good. */
export interface Fetched<Value> {
  readonly value: Value
  /** Milliseconds since 1970; `null`: it says no end. */
  readonly endsAtMs: number | null
}

/** How a credential is. */
export interface KeptState {
  /** The end of the one that is there; `null`: it says no end, or none is there. */
  readonly endsAtMs: number | null
  readonly isUsable: boolean
  /** Why the last attempt failed, without a secret; `null`: it did not. */
  readonly problem: string | null
}

export interface KeeperOptions<Value> {
  readonly fetch: () => Promise<Fetched<Value>>
  /** The last attempts failed, and this one is the first that did or did not. `null`: it did not. */
  readonly onChange: (problem: string | null) => void
  /** Wall clock, milliseconds since 1970. */
  readonly now?: () => number
  readonly later?: CallLater
}

const FETCH_MS = 30_000
/** A call waits for the first credential, and for one after a failure that is being fetched. */
const WAIT_MS = 5_000
/** Before its end it is renewed by so much, or by a fifth of what is left. */
const AHEAD_MS = 300_000
const PART_AHEAD = 0.2
/** What says no end may change where it stands. */
const REREAD_MS = 300_000
const MIN_WAIT_MS = 5_000
const MAX_WAIT_MS = 6 * 3_600_000
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 60_000

/**
 * Keeps a credential that ends: it is renewed ahead of its end, off the way of calls, one fetch at a time. While that
 * fails it is tried again, less and less often, and the last one is used until its end.
 */
export class CredentialKeeper<Value> {
  readonly #options: KeeperOptions<Value>
  readonly #now: () => number
  readonly #later: CallLater
  #kept: Fetched<Value> | null = null
  #problem: string | null = null
  #retryMs = FIRST_RETRY_MS
  #fetching: Promise<void> | null = null
  #cancel: () => void = () => {}
  #isStopped = false

  /** Begins to fetch. */
  constructor(options: KeeperOptions<Value>) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#later = options.later ?? callLater
    this.renew()
  }

  /** `null`: none is there that has not ended. */
  current(): Value | null {
    const kept = this.#kept
    return kept === null || (kept.endsAtMs !== null && kept.endsAtMs <= this.#now()) ? null : kept.value
  }

  /** Whether there is one. Waits only where there is none and one is being fetched. */
  usable(): boolean | Promise<boolean> {
    if (this.current() !== null) return true
    if (this.#fetching === null) return false
    return withinDeadline(this.#fetching, WAIT_MS).then(
      () => this.current() !== null,
      () => false,
    )
  }

  /** Fetches now, unless a fetch is under way. */
  renew(): void {
    if (this.#isStopped) return
    this.#cancel()
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = null
    })
  }

  /** Fetches now, and waits for that a little. */
  async renewed(): Promise<void> {
    this.renew()
    if (this.#fetching !== null) await settledWithin(this.#fetching, WAIT_MS)
  }

  state(): KeptState {
    const isUsable = this.current() !== null
    return {
      endsAtMs: isUsable ? (this.#kept?.endsAtMs ?? null) : null,
      isUsable,
      problem: this.#problem,
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel()
  }

  async #fetch(): Promise<void> {
    let waitMs: number
    try {
      const fetched = await withinDeadline(this.#options.fetch(), FETCH_MS)
      const leftMs = fetched.endsAtMs === null ? null : fetched.endsAtMs - this.#now()
      if (leftMs !== null && leftMs <= 0) throw new Error('what was fetched has ended already: see the clock')
      this.#kept = fetched
      this.#retryMs = FIRST_RETRY_MS
      this.#becomes(null)
      waitMs = leftMs === null ? REREAD_MS : leftMs - Math.min(AHEAD_MS, leftMs * PART_AHEAD)
      waitMs = Math.min(Math.max(waitMs, MIN_WAIT_MS), MAX_WAIT_MS)
    } catch (error) {
      waitMs = this.#retryMs
      this.#retryMs = Math.min(2 * waitMs, MAX_RETRY_MS)
      this.#becomes(error instanceof Error ? error.message : String(error))
    }
    if (!this.#isStopped) this.#cancel = this.#later(waitMs, () => this.renew())
  }

  #becomes(problem: string | null): void {
    const isNews = (problem === null) !== (this.#problem === null)
    this.#problem = problem
    if (isNews) this.#options.onChange(problem)
  }
}
