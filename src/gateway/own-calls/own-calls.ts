import type { GatewayConfig } from '../../config/config.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { readCommittedOffsets } from '../../store/ledger/committed-offsets.ts'
import { type GatewayLag, LATE_MS, selectGatewayLags } from '../../store/ledger/gateway-journals.ts'
import { AskedEnds } from './asked-ends.ts'
import { ReadYourWrites } from './read-your-writes.ts'

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
