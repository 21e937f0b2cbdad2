import { setTimeout as delay } from 'node:timers/promises'
import type { End, KnownEnds } from './asked-ends.ts'

/**
 * A call that ended longer ago is counted, or its record waits for so long that its gateway says so: see `LATE_MS`, and
 * some seconds until others have read it.
 */
const RECENT_MS = 10_000
const WAIT_MS = 1_000
const POLL_MS = 15
/** More offsets than of the producers that run are not kept. */
const MAX_OFFSETS = 4_096

export interface ReadYourWritesOptions {
  /** The producer that numbers the client's records here, and the highest number it has written. */
  readonly producerOf: (clientId: string) => string
  readonly lastSequenceOf: (clientId: string) => number
  /** How far the records of this process's producers, and of these others, are counted, as Postgres has it now. */
  readonly readCommittedOffsets: (others: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /** The last calls of the client that ended at other gateway processes. Never rejects. */
  readonly readOthersEnds: (clientId: string) => Promise<KnownEnds>
  /**
   * How long the oldest record waits of a gateway process, this one or another, where counting is late; `null`: it is
   * not. Rejects when that is not known.
   */
  readonly readLateMs: () => Promise<number | null>
}

/**
 * Lets a client see its own calls. A query of its usage waits, a second at most, until the last call of the client that
 * any gateway process recorded is counted: those of its shard that came after, and other shards, are not waited for.
 *
 * What ended in the last ten seconds is known by its number. What ended before is counted, or a gateway says that its
 * records wait: then, and where numbers are not known, an answer may lack calls.
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
  /** As they were read last. */
  readonly #committedOffsets = new Map<string, number>()
  /** Producers of other processes, and how many queries wait for each. */
  readonly #others = new Map<string, number>()
  /** The read in progress. All waiting queries share it, so that many queries do not make many polls. */
  #reading: Promise<void> | null = null

  constructor(options: ReadYourWritesOptions) {
    this.#options = options
  }

  /** A call of the client has ended, and its record is written. */
  ended(clientId: string): void {
    this.#dropOlder(performance.now())
    this.#ended.set(clientId, this.#options.lastSequenceOf(clientId))
  }

  /** The last call of the client that ended here; `null`: none in the last ten seconds. */
  ownEnd(clientId: string): End | null {
    this.#dropOlder(performance.now())
    const sequence = this.#ended.get(clientId) ?? this.#endedBefore.get(clientId)
    return sequence === undefined ? null : { producer: this.#options.producerOf(clientId), sequence }
  }

  /**
   * Resolves when the client's last call is counted, or a second has passed.
   *
   * @returns Milliseconds: calls that ended so long before this was called are counted. `null`: so are all of them.
   */
  async counted(clientId: string): Promise<number | null> {
    const { readOthersEnds, readLateMs } = this.#options
    const untilMs = performance.now() + WAIT_MS
    const own = this.ownEnd(clientId)
    const [isOwnCounted, areOthersCounted, lateMs] = await Promise.all([
      own === null || this.#untilCounted(new Map([[own.producer, own.sequence]]), untilMs),
      readOthersEnds(clientId).then(
        async ({ ends, isComplete }) => (await this.#untilCounted(ends, untilMs)) && isComplete,
      ),
      readLateMs().catch(() => RECENT_MS),
    ])
    const isWhole = isOwnCounted && areOthersCounted && lateMs === null
    return isWhole ? null : Math.max(lateMs ?? 0, RECENT_MS)
  }

  /** Resolves when these records are counted: true; or when it is time: false. */
  async #untilCounted(ends: ReadonlyMap<string, number>, untilMs: number): Promise<boolean> {
    // Offsets that were read a little earlier are never too high, and may do.
    const lacks = () =>
      ends.entries().some(([producer, end]) => (this.#committedOffsets.get(producer) ?? 0) < end)
    if (!lacks()) return true
    for (const producer of ends.keys()) this.#others.set(producer, (this.#others.get(producer) ?? 0) + 1)
    try {
      for (;;) {
        const leftMs = untilMs - performance.now()
        if (leftMs <= 0) return false
        // A store that does not answer must not delay the query for longer than one that is behind.
        const read = this.#readCommittedOffsets().then(() => true)
        if ((await Promise.race([read, delay(leftMs, false, { ref: false })])) === false) return false
        if (!lacks()) return true
        await delay(POLL_MS)
      }
    } finally {
      for (const producer of ends.keys()) {
        const waiting = (this.#others.get(producer) ?? 1) - 1
        if (waiting > 0) this.#others.set(producer, waiting)
        else this.#others.delete(producer)
      }
    }
  }

  #dropOlder(nowMs: number): void {
    const ageMs = nowMs - this.#beganAtMs
    if (ageMs < RECENT_MS) return
    this.#endedBefore = ageMs < 2 * RECENT_MS ? this.#ended : new Map()
    this.#ended = new Map()
    this.#beganAtMs = nowMs
  }

  #readCommittedOffsets(): Promise<void> {
    this.#reading ??= this.#options
      .readCommittedOffsets([...this.#others.keys()])
      .then((read) => {
        if (this.#committedOffsets.size > MAX_OFFSETS) this.#committedOffsets.clear()
        for (const [producer, offset] of read) this.#committedOffsets.set(producer, offset)
      })
      .finally(() => {
        this.#reading = null
      })
    return this.#reading
  }
}
