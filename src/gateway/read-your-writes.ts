import { setTimeout as delay } from 'node:timers/promises'

/** A call that ended longer ago is counted, or its counting takes longer than a query may wait. */
const RECENT_MS = 2_000
const WAIT_MS = 1_000
const POLL_MS = 15

export interface ReadYourWritesOptions {
  /** The producer that numbers the client's records, and the highest number it has written. */
  readonly producerOf: (clientId: string) => string
  readonly lastSequenceOf: (clientId: string) => number
  /** How far the records of this process's producers are counted, as Postgres has it now. */
  readonly readCommittedOffsets: () => Promise<ReadonlyMap<string, number>>
}

/**
 * Lets a client see its own calls. A query of its usage waits, a second at most, until its last call that this process
 * recorded is counted: those of its shard that came after, and other shards, are not waited for.
 */
export class ReadYourWrites {
  readonly #options: ReadYourWritesOptions
  /**
   * The numbers of clients' last records, by the client: of this period of `RECENT_MS`, and of the one before. So only
   * clients that have just made calls take memory.
   */
  #ended = new Map<string, number>()
  #endedBefore: ReadonlyMap<string, number> = new Map()
  /** Monotonic milliseconds at which `#ended` began. */
  #beganAtMs = performance.now()
  #committedOffsets: ReadonlyMap<string, number> = new Map()
  /** The read in progress. All waiting queries share it, so that many queries do not make many polls. */
  #reading: Promise<ReadonlyMap<string, number>> | null = null

  constructor(options: ReadYourWritesOptions) {
    this.#options = options
  }

  /** A call of the client has ended, and its record is written. */
  ended(clientId: string): void {
    this.#dropOlder(performance.now())
    this.#ended.set(clientId, this.#options.lastSequenceOf(clientId))
  }

  /** Resolves when the client's last call is counted, or a second has passed. */
  async counted(clientId: string): Promise<void> {
    const askedAt = performance.now()
    this.#dropOlder(askedAt)
    const wanted = this.#ended.get(clientId) ?? this.#endedBefore.get(clientId)
    if (wanted === undefined) return
    const producer = this.#options.producerOf(clientId)
    // Offsets that were read a little earlier are never too high, and may do.
    for (let offsets = this.#committedOffsets; (offsets.get(producer) ?? 0) < wanted; ) {
      const leftMs = askedAt + WAIT_MS - performance.now()
      if (leftMs <= 0) return
      // A store that does not answer must not delay the query for longer than one that is behind.
      const read = await Promise.race([this.#readCommittedOffsets(), delay(leftMs, null, { ref: false })])
      if (read === null) return
      offsets = read
      if ((offsets.get(producer) ?? 0) < wanted) await delay(POLL_MS)
    }
  }

  #dropOlder(nowMs: number): void {
    const ageMs = nowMs - this.#beganAtMs
    if (ageMs < RECENT_MS) return
    this.#endedBefore = ageMs < 2 * RECENT_MS ? this.#ended : new Map()
    this.#ended = new Map()
    this.#beganAtMs = nowMs
  }

  #readCommittedOffsets(): Promise<ReadonlyMap<string, number>> {
    this.#reading ??= this.#options
      .readCommittedOffsets()
      .then((read) => {
        this.#committedOffsets = read
        return read
      })
      .finally(() => {
        this.#reading = null
      })
    return this.#reading
  }
}
