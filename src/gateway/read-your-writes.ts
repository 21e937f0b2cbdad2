import { setTimeout as delay } from 'node:timers/promises'

/** A call that ended longer ago is counted, or its counting takes longer than a query may wait. */
const RECENT_MS = 2_000
const WAIT_MS = 1_000
const POLL_MS = 25

export interface ReadYourWritesOptions {
  /**
   * The highest sequence in this process's journal, and the highest one that is counted, as Postgres has it
   * now.
   */
  readonly lastSequence: () => number
  readonly readCommittedOffset: () => Promise<number>
}

/**
 * Lets a client see its own calls. A query of its usage waits, a second at most, until all calls that this
 * process had recorded by then are counted. Clients without recent calls do not wait.
 */
export class ReadYourWrites {
  readonly #options: ReadYourWritesOptions
  /** Monotonic milliseconds at the end of each client's last call. */
  readonly #endedAt = new Map<string, number>()
  /** The read in progress. All waiting queries share it, so that many queries do not make many polls. */
  #reading: Promise<number> | null = null

  constructor(options: ReadYourWritesOptions) {
    this.#options = options
  }

  ended(clientId: string): void {
    this.#endedAt.set(clientId, performance.now())
  }

  async counted(clientId: string): Promise<void> {
    const endedAt = this.#endedAt.get(clientId)
    const askedAt = performance.now()
    if (endedAt === undefined || askedAt - endedAt > RECENT_MS) return
    const wanted = this.#options.lastSequence()
    for (;;) {
      const leftMs = askedAt + WAIT_MS - performance.now()
      if (leftMs <= 0) return
      // A store that does not answer must not delay the query for longer than one that is behind.
      const committedOffset = await Promise.race([
        this.#readCommittedOffset(),
        delay(leftMs, null, { ref: false }),
      ])
      if (committedOffset === null || committedOffset >= wanted) return
      await delay(POLL_MS)
    }
  }

  /** Committed offsets only grow, so one that was read a little earlier is never too high. */
  #readCommittedOffset(): Promise<number> {
    this.#reading ??= this.#options.readCommittedOffset().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }
}
