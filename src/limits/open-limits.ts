import { randomBytes } from 'node:crypto'
import type { KeyOwner } from '../call/call-ports.ts'
import { gatewayChannel } from '../domain/redis/redis-names.ts'
import { openGroupDirectory } from '../keys/groups/group-directory.ts'
import { settledWithin } from '../lib/deadline.ts'
import type { Logger } from '../lib/log.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { openLimitDirectory } from './directory/limit-directory.ts'
import { LimitEngine } from './engine/limit-engine.ts'
import type { Limiter } from './engine/limiter.ts'
import { RefusalCounts, type RefusedCall } from './engine/refusal-counts.ts'
import { isOfKey, type Limit } from './limit.ts'
import type { ReadSpent } from './sharing/limit-store.ts'
import { RedisLimitStore } from './sharing/redis-limit-store.ts'
import { answerLimits } from './shown-limits.ts'
import { selectSpent } from './spent/select-spent.ts'
import type { OtherSubjects } from './subject.ts'
import { addRefusedCalls } from './table/refused-calls.ts'

/** A gateway that starts waits so long to learn its limits, as calls that come before pass without. */
const FIRST_READ_MS = 2_000
/** A client is shown so many limits of groups and values: each has a sum of its own. */
const MOST_BESIDES = 100
/** At the end, for the counts of refused calls. */
const LAST_COUNTS_MS = 500

export interface OpenLimitsOptions {
  readonly redisUrl: string
  readonly redisPrefix: string
  /** Who numbers a client's records in this process, and all who number any. */
  readonly producerOf: (clientId: string) => string
  readonly producers: readonly string[]
  /** For definitions and spent figures: a call's limits must not wait behind other queries. */
  readonly pool: Postgres
  /** The clock of calls, milliseconds since 1970: a call and its budgets have one day. */
  readonly now: () => number
  readonly log: Logger
}

/** Everything about rates and budgets in a gateway process. */
export interface RunningLimits {
  readonly limiter: Limiter
  readonly refused: (refused: RefusedCall) => void
  /** A request was refused before its client was known, or because its key or client is not active. */
  readonly refusedUnknown: (
    reason: string,
    owner: KeyOwner | null,
    metrics: { refusedRequest(reason: string): void },
  ) => void
  /** By reason, since the start. */
  readonly refusals: () => ReadonlyMap<string, number>
  readonly stats: Limiter['stats']
  /** Redis is away, or the limits were never read. */
  readonly isDegraded: () => boolean
  /** The limits that hold for calls with this key; `null`: with any. */
  readonly holding: (clientId: string, keyId: string | null) => readonly Limit[]
  /**
   * What a client is shown of the limits of its calls with this key; `null`: with any. Rejects when Postgres is away.
   */
  readonly answer: (pool: Postgres, clientId: string, keyId: string | null) => Promise<readonly object[]>
  /** Reads which limits and groups there are now. */
  readonly refresh: () => Promise<unknown>
  /** After the last call has its record. */
  readonly close: () => Promise<void>
}

/** A gateway that has not said it for so long has ended, or reaches no store. */
const SILENT_SECONDS = 4
/**
 * How long ago another process may have said how full its journal is, so that it may run still. It says so each 15 s,
 * and not while Postgres is away: that may have been so for long, and Redis emptied meanwhile.
 */
const PEER_SECONDS = 3_600

/** Says that a gateway runs and cannot reach Redis: what it holds of limits is its own still. */
export async function saySelfCutOff(pool: Postgres, gatewayId: string): Promise<void> {
  await pool.query(
    `insert into ${SCHEMA}.cut_off_gateways (gateway, at) values ($1, now())
     on conflict (gateway) do update set at = excluded.at`,
    [gatewayId],
  )
}

/** Which of these have said so just now. @throws When Postgres is away. */
export async function selectCutOff(
  pool: Postgres,
  gatewayIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ gateway: string }>(
    `select gateway from ${SCHEMA}.cut_off_gateways
     where gateway = any($1::text[]) and at > now() - make_interval(secs => ${SILENT_SECONDS})`,
    [gatewayIds],
  )
  return new Set(rows.map(({ gateway }) => gateway))
}

/** Whether a gateway has run here shortly before. @throws When Postgres is away. */
export async function hadGateways(pool: Postgres): Promise<boolean> {
  const { rows } = await pool.query<{ had: boolean }>(
    `select exists (select from ${SCHEMA}.gateway_journals
       where at > now() - make_interval(secs => ${PEER_SECONDS})) as had`,
  )
  return rows[0]?.had !== false
}

const TICK_MS = 100
/** At the end, the time to give back what is held: others wait for it no longer than this either. */
const CLOSE_MS = 500

interface OpenLimiterOptions {
  /** The limits that may hold for a client, of `LimitDirectory`: the same list until one of them changes. */
  readonly limitsOf: (clientId: string) => readonly Limit[]
  readonly others: OtherSubjects
  /** What Postgres has counted of budgets, of `selectSpent`. It must reject soon where Postgres is away. */
  readonly readSpent: ReadSpent
  /** Who numbers a client's records in this process, and all who number any. */
  readonly producerOf: (clientId: string) => string
  readonly producers: readonly string[]
  /** Milliseconds since 1970: periods of budgets begin and end by it. */
  readonly wallNow: () => number
  /** Unlike that of any other process; the process listens on the channel of this name. */
  readonly gatewayId: string
  /** Says in Postgres that this process cannot reach Redis; and which of these others have said so just now. */
  readonly sayCutOff: () => Promise<void>
  readonly selectCutOff: (gatewayIds: readonly string[]) => Promise<ReadonlySet<string>>
  /** Whether another gateway may have run shortly before. */
  readonly hadPeers: () => Promise<boolean>
  readonly redisUrl: string
  readonly redisPrefix: string
  readonly log: Logger
}

/** A limiter at work. */
interface RunningLimiter extends Limiter {
  /** After the last call. Gives back what this process holds. */
  close(): Promise<void>
}

/** Opens the limits of this gateway process. It never throws because a store is away. */
function openLimiter(options: OpenLimiterOptions): RunningLimiter {
  const store = new RedisLimitStore({ ...options, onConnected: () => engine.reconnected() })
  const engine = new LimitEngine({
    gatewayId: options.gatewayId,
    hadPeers: options.hadPeers,
    lifeSigns: {
      give: options.sayCutOff,
      async findMissing(gatewayIds) {
        const deaf = await store.findDeaf(gatewayIds)
        const cutOff = await options.selectCutOff(gatewayIds)
        const missing = gatewayIds.filter((id) => !cutOff.has(id))
        return new Map(missing.map((id) => [id, deaf.includes(id) ? 'ended' : 'silent']))
      },
    },
    limitsOf: options.limitsOf,
    others: options.others,
    readSpent: options.readSpent,
    producerOf: options.producerOf,
    producers: options.producers,
    store,
    now: () => performance.now(),
    wallNow: options.wallNow,
    defer: (task) => setImmediate(task),
  })
  const timer = setInterval(() => engine.tick(), TICK_MS).unref()
  return Object.assign(engine, {
    async close() {
      clearInterval(timer)
      await settledWithin(engine.giveBack(), CLOSE_MS)
      store.close()
    },
  })
}

/** Opens them. */
export async function openLimits(options: OpenLimitsOptions): Promise<RunningLimits> {
  const { redisUrl, redisPrefix, producerOf, producers, pool, now, log } = options
  const gatewayId = randomBytes(9).toString('base64url')
  const channels = [gatewayChannel(redisPrefix, gatewayId)]
  const groups = openGroupDirectory({ pool, log })
  const groupsOf = (clientId: string) => groups.of(clientId)
  const directory = openLimitDirectory({ pool, redisUrl, redisPrefix, channels, groupsOf, log })
  const limiter = openLimiter({
    limitsOf: (clientId) => directory.of(clientId),
    others: {
      of: (clientId, axes) => directory.others.of(clientId, axes),
      limitsOf: (subject) => directory.others.limitsOf(subject),
    },
    wallNow: now,
    readSpent: (budgets, producers) => selectSpent(pool, budgets, producers),
    gatewayId,
    sayCutOff: () => saySelfCutOff(pool, gatewayId),
    selectCutOff: (gatewayIds) => selectCutOff(pool, gatewayIds),
    hadPeers: () => hadGateways(pool),
    producerOf,
    producers,
    redisUrl,
    redisPrefix,
    log,
  })
  const refusals = new RefusalCounts({ add: (counts) => addRefusedCalls(pool, counts), log, now })
  await settledWithin(Promise.all([directory.whenReady(), groups.whenReady()]), FIRST_READ_MS)
  const holding = (clientId: string, keyId: string | null) =>
    directory.of(clientId).filter((limit) => keyId === null || isOfKey(limit, keyId))
  return {
    limiter,
    refused: (refused) => refusals.count(refused),
    refusedUnknown(reason, owner, metrics) {
      metrics.refusedRequest(reason)
      refusals.countUnknown(reason, owner)
    },
    refusals: () => refusals.totals,
    stats: () => limiter.stats(),
    isDegraded: () => !directory.ready || !groups.ready || limiter.stats().isDegraded,
    holding,
    answer: async (summaries, clientId, keyId) => {
      const rateOf = (limit: Limit) => limiter.rateOf(clientId, limit)
      const besides = directory.besides(clientId).filter((limit) => keyId === null || isOfKey(limit, keyId))
      const limits = [...holding(clientId, keyId), ...besides.slice(0, MOST_BESIDES)]
      return await answerLimits(summaries, clientId, limits, rateOf, now())
    },
    refresh: () => Promise.all([directory.refresh(), groups.refresh()]),
    async close() {
      await limiter.close()
      await settledWithin(refusals.stop(), LAST_COUNTS_MS)
      await Promise.all([directory.close(), groups.close()])
    },
  }
}
