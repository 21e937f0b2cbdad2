import { randomBytes } from 'node:crypto'
import type { GatewayConfig } from '../config/config.ts'
import { DEFAULT_ESTIMATES } from '../config/yaml/estimates.ts'
import { gatewayChannel } from '../domain/redis/redis-names.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { settledWithin } from '../lib/deadline.ts'
import type { Logger } from '../lib/log.ts'
import { answerLimits } from '../limits/client-limits.ts'
import { hadGateways, saySelfCutOff, selectCutOff } from '../limits/cut-off-gateways.ts'
import { openLimitDirectory } from '../limits/directory/limit-directory.ts'
import type { LimiterStats } from '../limits/engine/limiter.ts'
import { openLimiter } from '../limits/engine/open-limiter.ts'
import { RefusalCounts } from '../limits/engine/refusal-counts.ts'
import { isOfKey } from '../limits/limit.ts'
import { selectSpent } from '../limits/spent/select-spent.ts'
import { addRefusedCalls } from '../limits/table/refused-calls.ts'
import type { Catalog } from '../pricing/catalog/catalog.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import type { AdmissionLimits } from './admission/admission.ts'
import type { LearnedRatios } from './estimation/learning/learned-ratios.ts'
import { CallEstimates } from './expected-use/call-estimates.ts'

/** A gateway that starts waits so long to learn its limits, as calls that come before pass without. */
const FIRST_READ_MS = 2_000
/** At the end, for the counts of refused calls. */
const LAST_COUNTS_MS = 500

export interface GatewayLimitsOptions {
  readonly config: GatewayConfig
  /** Those of now. */
  readonly prices: { readonly catalog: Catalog }
  /** What estimates of tokens have learned. */
  readonly ratios: LearnedRatios
  readonly ledger: Pick<Ledger, 'producerOf'>
  /** For definitions and spent figures: a call's limits must not wait behind other queries. */
  readonly pool: Postgres
  /** The clock of calls, milliseconds since 1970: a call and its budgets have one day. */
  readonly now: () => number
  readonly log: Logger
}

/** Everything about rates and budgets in a gateway process. */
export interface GatewayLimits {
  readonly admission: AdmissionLimits
  readonly refused: (clientId: string, reason: string) => void
  /** By reason, since the start. */
  readonly refusals: () => ReadonlyMap<string, number>
  readonly stats: () => LimiterStats
  /** Redis is away, or the limits were never read. */
  readonly isDegraded: () => boolean
  /** What a client is shown of the limits of its calls with this key. Rejects when Postgres is away. */
  readonly answer: (pool: Postgres, clientId: string, keyId: string) => Promise<readonly object[]>
  /** After the last call has its record. */
  readonly close: () => Promise<void>
}

/** Opens them. */
export async function openGatewayLimits(options: GatewayLimitsOptions): Promise<GatewayLimits> {
  const { config, prices, ratios, ledger, pool, now, log } = options
  const { redisUrl, redisPrefix } = config
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
    producerOf: (clientId) => ledger.producerOf(clientId),
    redisUrl,
    redisPrefix,
    log,
  })
  const estimates = new CallEstimates(() => prices.catalog, config.estimates ?? DEFAULT_ESTIMATES, ratios)
  const refusals = new RefusalCounts({ add: (counts) => addRefusedCalls(pool, counts), log, now })
  await settledWithin(directory.whenReady(), FIRST_READ_MS)
  return {
    admission: {
      limiter,
      expectedUse: (admission) => estimates.estimateCall(admission),
      upperUse: (admission, model, asked, bytes) => estimates.upperUse(admission, model, asked, bytes),
      learn: (expected, record, prompt) => estimates.learn(expected, record, prompt),
    },
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
