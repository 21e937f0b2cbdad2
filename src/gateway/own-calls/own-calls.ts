import type { GatewayConfig } from '../../config/config.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { readCommittedOffsets } from '../../store/ledger/committed-offsets.ts'
import { selectGatewayLags } from '../../store/ledger/gateway-journals.ts'
import { AskedEnds } from './asked-ends.ts'
import { LateGateways } from './late-gateways.ts'
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
