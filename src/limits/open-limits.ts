import { randomBytes } from 'node:crypto'
import { gatewayChannel } from '../domain/redis/redis-names.ts'
import { settledWithin } from '../lib/deadline.ts'
import type { Logger } from '../lib/log.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { hadGateways, saySelfCutOff, selectCutOff } from './cut-off-gateways.ts'
import { openLimitDirectory } from './directory/limit-directory.ts'
import type { Limiter } from './engine/limiter.ts'
import { openLimiter } from './engine/open-limiter.ts'
import { RefusalCounts } from './engine/refusal-counts.ts'
import { isOfKey } from './limit.ts'
import { answerLimits } from './shown-limits.ts'
import { selectSpent } from './spent/select-spent.ts'
import { addRefusedCalls } from './table/refused-calls.ts'

/** A gateway that starts waits so long to learn its limits, as calls that come before pass without. */
const FIRST_READ_MS = 2_000
/** At the end, for the counts of refused calls. */
const LAST_COUNTS_MS = 500

export interface OpenLimitsOptions {
  readonly redisUrl: string
  readonly redisPrefix: string
  /** Who numbers a client's records in this process. */
  readonly producerOf: (clientId: string) => string
  /** For definitions and spent figures: a call's limits must not wait behind other queries. */
  readonly pool: Postgres
  /** The clock of calls, milliseconds since 1970: a call and its budgets have one day. */
  readonly now: () => number
  readonly log: Logger
}

/** Everything about rates and budgets in a gateway process. */
export interface RunningLimits {
  readonly limiter: Limiter
  readonly refused: (clientId: string, reason: string) => void
  /** By reason, since the start. */
  readonly refusals: () => ReadonlyMap<string, number>
  readonly stats: Limiter['stats']
  /** Redis is away, or the limits were never read. */
  readonly isDegraded: () => boolean
  /** What a client is shown of the limits of its calls with this key. Rejects when Postgres is away. */
  readonly answer: (pool: Postgres, clientId: string, keyId: string) => Promise<readonly object[]>
  /** After the last call has its record. */
  readonly close: () => Promise<void>
}

/** Opens them. */
export async function openLimits(options: OpenLimitsOptions): Promise<RunningLimits> {
  const { redisUrl, redisPrefix, producerOf, pool, now, log } = options
  const gatewayId = randomBytes(9).toString('base64url')
  const channels = [gatewayChannel(redisPrefix, gatewayId)]
  const directory = openLimitDirectory({ pool, redisUrl, redisPrefix, channels, log })
  const limiter = openLimiter({
    limitsOf: (clientId) => directory.of(clientId),
    wallNow: now,
    readSpent: (budgets, producers) => selectSpent(pool, budgets, producers),
    gatewayId,
    sayCutOff: () => saySelfCutOff(pool, gatewayId),
    selectCutOff: (gatewayIds) => selectCutOff(pool, gatewayIds),
    hadPeers: () => hadGateways(pool),
    producerOf,
    redisUrl,
    redisPrefix,
    log,
  })
  const refusals = new RefusalCounts({ add: (counts) => addRefusedCalls(pool, counts), log, now })
  await settledWithin(directory.whenReady(), FIRST_READ_MS)
  return {
    limiter,
    refused: (clientId, reason) => refusals.count(clientId, reason),
    refusals: () => refusals.totals,
    stats: () => limiter.stats(),
    isDegraded: () => !directory.ready || limiter.stats().isDegraded,
    answer: async (summaries, clientId, keyId) => {
      const limits = directory.of(clientId).filter((limit) => isOfKey(limit, keyId))
      const rateOf = (limitId: string) => limiter.rateOf(clientId, limitId)
      return await answerLimits(summaries, clientId, limits, rateOf, now())
    },
    async close() {
      await limiter.close()
      await settledWithin(refusals.stop(), LAST_COUNTS_MS)
      await directory.close()
    },
  }
}
