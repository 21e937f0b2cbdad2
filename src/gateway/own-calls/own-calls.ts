import { setTimeout as delay } from 'node:timers/promises'
import type { GatewayConfig } from '../../config/config.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { readCommittedOffsets } from '../../store/ledger/committed-offsets.ts'
import { type GatewayLag, LATE_MS, selectGatewayLags } from '../../store/ledger/gateway-journals.ts'
import { AskedEnds, type End, type KnownEnds } from './asked-ends.ts'

export interface OwnCallsOptions {
  readonly config: Pick<GatewayConfig, 'redisUrl' | 'redisPrefix'>
  /** The name of this process among the gateways. */
  readonly name: string
  readonly pool: Postgres
  /** Closed by the caller. */
  readonly redis: Redis
  readonly ledger: Pick<Ledger, 'producers' | 'producerOf' | 'lastSequenceOf' | 'stats'>
  /** The time of day, milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
}

/** A client's own calls, before its usage is shown, at whichever gateway process they ended. */
export interface OwnCalls {
  /** A call of the client has ended, and its record is written. */
  ended(clientId: string): void
  /**
   * Waits, a second at most, until the client's last calls are counted.
   *
   * @returns Until when all its calls are counted, in milliseconds since 1970; `null`: all are. Rejects without Postgres.
   */
  wholeUntilMs(clientId: string): Promise<number | null>
  close(): void
}

/** An answer of Postgres serves all queries of so long. */
const KEEP_MS = 1_000
/** A query waits so long in all, for whatever store is slow. */
const ANSWER_MS = 1_000

interface LateGatewaysOptions {
  /** How long the oldest record of this process has waited, in milliseconds; 0: none does. */
  readonly ownMs: () => number
  /** All gateway processes that run, by what they said last. */
  readonly selectLags: () => Promise<readonly GatewayLag[]>
}

/** The gateway processes that run, and whether records wait for long at any. */
export class LateGateways {
  readonly #options: LateGatewaysOptions
  #readAtMs = Number.NEGATIVE_INFINITY
  #lags: Promise<readonly GatewayLag[]> = Promise.resolve([])

  constructor(options: LateGatewaysOptions) {
    this.#options = options
  }

  /** Of the oldest record, in milliseconds; `null`: none waits for long. Rejects without Postgres, after a second at most. */
  async readMs(): Promise<number | null> {
    const lags = await this.#read()
    const others = lags.flatMap(({ oldestMs }) => (oldestMs < LATE_MS ? [] : [oldestMs]))
    // They have grown older since they were read.
    const sinceMs = Math.max(performance.now() - this.#readAtMs, 0)
    const oldestMs = Math.max(this.#options.ownMs(), ...others.map((ms) => ms + sinceMs))
    return oldestMs >= LATE_MS ? oldestMs : null
  }

  /** The names of all processes. Rejects alike. */
  async readNames(): Promise<readonly string[]> {
    return (await this.#read()).map(({ gateway }) => gateway)
  }

  async #read(): Promise<readonly GatewayLag[]> {
    const nowMs = performance.now()
    if (nowMs - this.#readAtMs >= KEEP_MS) {
      this.#readAtMs = nowMs
      this.#lags = this.#options.selectLags()
      // An answer that failed serves no other query.
      this.#lags.catch(() => {
        this.#readAtMs = Number.NEGATIVE_INFINITY
      })
    }
    return await withinDeadline(this.#lags, ANSWER_MS)
  }
}

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

export function openOwnCalls({ config, name, pool, redis, ledger, now, log }: OwnCallsOptions): OwnCalls {
  const { redisUrl, redisPrefix } = config
  const late = new LateGateways({
    ownMs: () => ledger.stats().oldestUncommittedMs,
    selectLags: () => selectGatewayLags(pool),
  })
  const others = new AskedEnds({
    redis,
    redisUrl,
    redisPrefix,
    name,
    ownEnd: (clientId) => own.ownEnd(clientId),
    readOthers: async () => (await late.readNames()).filter((other) => other !== name),
    log,
  })
  const own: ReadYourWrites = new ReadYourWrites({
    producerOf: (clientId) => ledger.producerOf(clientId),
    lastSequenceOf: (clientId) => ledger.lastSequenceOf(clientId),
    readCommittedOffsets: (others) => readCommittedOffsets(pool, [...ledger.producers, ...others]),
    readOthersEnds: (clientId) => others.read(clientId),
    readLateMs: () => late.readMs(),
  })
  return {
    ended: (clientId) => own.ended(clientId),
    async wholeUntilMs(clientId) {
      const askedAtMs = now()
      const lacksMs = await own.counted(clientId)
      return lacksMs === null ? null : askedAtMs - lacksMs
    },
    close: () => others.close(),
  }
}
