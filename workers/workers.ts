import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { AdminKeys, JobFetchConfig, KafkaConfig, PriceRefreshConfig } from '../src/config/config.ts'
import { booksDiffer } from '../src/corrections/conditions.ts'
import { findIllness } from '../src/doctor/find-illness.ts'
import { databaseName, offsetsName, queuePrefix, streamName } from '../src/domain/redis/redis-names.ts'
import { utcDayOf } from '../src/domain/utc-day.ts'
import { settledWithin, withinDeadline } from '../src/lib/deadline.ts'
import type { Logger } from '../src/lib/logger.ts'
import { repeat } from '../src/lib/repeat.ts'
import { VERSION } from '../src/lib/version.ts'
import { countTried } from '../src/limits/tried/count-tried.ts'
import type { WorkerMetricsOptions } from '../src/metrics/rollup-metrics.ts'
import { followPrices } from '../src/pricing/refresh/follow-prices.ts'
import { NO_STORED_PRICES } from '../src/pricing/refresh/stored-prices.ts'
import { createCallDays } from '../src/rollup/call-days.ts'
import { createCountingMemory } from '../src/rollup/count-records.ts'
import { createDrain } from '../src/rollup/drain/drain.ts'
import { createGapCheck } from '../src/rollup/drain/gap-check.ts'
import { createRollUp } from '../src/rollup/roll-up.ts'
import type { BillingReceiver } from '../src/statements/billing/mouths.ts'
import { openPostgres } from '../src/store/connection/postgres.ts'
import { openRedis } from '../src/store/connection/redis.ts'
import { readStreamBacklog } from '../src/store/connection/redis-state.ts'
import { registerStream, selectStreams } from '../src/store/ledger/ledger-database.ts'
import { NOTHING_REPORTED } from '../src/store/processes/process-report.ts'
import { keepAnnounced } from '../src/store/processes/processes-table.ts'
import { StoreClock } from '../src/store/processes/store-clock.ts'
import { RedisWatch } from '../src/store/redis-probe/redis-probe.ts'
import { ALERT_SCHEDULES, startAlerts } from './alerts/alerts.ts'
import { startBilling } from './billing.ts'
import { takeInvoices } from './invoices.ts'
import { createJobFetcher } from './job-fetcher.ts'
import { openCallsToKafka } from './kafka/calls-to-kafka.ts'
import { createPriceRefresher } from './price-refresh.ts'
import { prune } from './prune.ts'
import { openJobQueue, type Schedule } from './queue.ts'
import { Leases } from './shards/leases.ts'
import { claimPrefix } from './shards/prefix-claim.ts'
import { reportLosses, type ShardSums, startShards } from './shards/shards.ts'
import { sumUpDays } from './summarise.ts'
import { createTriedCount } from './tried-limits.ts'
import { verify } from './verify.ts'

export interface WorkersOptions {
  readonly databaseUrl: string
  readonly redisUrl: string
  /** Begins every Redis key. */
  readonly redisPrefix: string
  /** Days that single calls are kept; 0: not at all. */
  readonly callRetentionDays: number
  /** Absent: as by default. */
  readonly axisValuesPerDay?: number
  readonly log: Logger
  /** Upstreams whose jobs are fetched in the background; `null`: none. */
  readonly jobFetching?: JobFetchConfig | null
  /** Where newer prices are fetched; `null`, and by default: nowhere. */
  readonly priceRefresh?: PriceRefreshConfig | null
  /** Where single calls are sent too; `null`, and by default: nowhere. */
  readonly kafka?: KafkaConfig | null
  /** Billing systems that sums are sent to; absent: none. */
  readonly billing?: readonly BillingReceiver[]
  /** Whose costs are fetched; absent: of none. */
  readonly adminKeys?: AdminKeys
  /** How long a silent producer's gap is waited for. */
  readonly gapPatienceMs?: number
  /** Between the first attempt to deliver an alert and the second. */
  readonly alertPauseMs?: number
}

/** What this process shows of itself, for its container and for Prometheus. */
export type WorkerView = Omit<WorkerMetricsOptions, 'version'>

export interface Workers {
  /** What this process has counted since it began. */
  readonly sums: Readonly<ShardSums>
  readonly view: WorkerView
  /** Ends after the running transactions; entries left in the streams are for the next worker. */
  close(): Promise<void>
}

/** To Postgres. */
const MAX_CONNECTIONS = 10
const DAY_MS = 86_400_000
const ROLL_UP_EVERY_MS = 1_000
/** Most of it finds nothing due; a job whose result was read elsewhere is billed within seconds. */
const FETCH_EVERY_MS = 5_000
const SUM_UP_EVERY_MS = 300_000
const STATEMENT_TIMEOUT_MS = 30_000
const REDIS_SILENCE_MS = 3_000
/** A server that does not answer by then is not waited for: another worker repeats what was not committed. */
const TRANSACTION_END_MS = 5_000
const POOL_END_MS = 1_000
/** A scrape of metrics waits this long for Redis. */
const SCRAPE_MS = 1_000
/** A drain and the daily jobs may run beside each stream's next job. */
const SPARE_JOBS = 4
const SCHEDULE_EVERY_MS = 1_000

/** Starts all jobs. Those that depend on Redis or Postgres begin once these answer. */
export function startWorkers(options: WorkersOptions): Workers {
  const { redisUrl, redisPrefix, callRetentionDays, log } = options
  const pool = openPostgres(options.databaseUrl, {
    max: MAX_CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'tallygate worker',
    log,
  })
  const clock = new StoreClock({ log })
  const startedAtMs = Date.now()
  const callDays = createCallDays(pool, callRetentionDays, log, clock.now)
  const gapCheck = createGapCheck(
    options.gapPatienceMs === undefined ? {} : { patienceMs: options.gapPatienceMs },
  )
  const toKafka = options.kafka == null ? null : openCallsToKafka({ pool, config: options.kafka, log })
  const rollUp = createRollUp({
    pool,
    callDays,
    memory: createCountingMemory(options.axisValuesPerDay),
    otherSinks: toKafka === null ? [] : [toKafka.outbox],
  })
  const billing = startBilling({ pool, receivers: options.billing ?? [], log })
  const jobFetching = options.jobFetching ?? null
  const jobFetcher =
    jobFetching === null ? null : createJobFetcher({ pool, rollUp, config: jobFetching, now: clock.now, log })
  const following =
    jobFetching === null || jobFetcher === null
      ? null
      : followPrices({ pool, dataDir: null, log }, NO_STORED_PRICES, (stored) =>
          jobFetcher.takeCatalog(jobFetching.catalogOn(stored)),
        )
  const drain = createDrain({
    rollUp,
    gapCheck,
    offsetsKey: (stream) => offsetsName(redisPrefix, stream),
    databaseId: () => claim.databaseId,
    onCommitted: (stream, rolledUp) => reportLosses(log, stream, rolledUp),
  })
  const redis = openRedis(redisUrl, {
    name: 'tallygate watch',
    whenAway: 'fail',
    silenceMs: REDIS_SILENCE_MS,
    log,
  })
  const redisWatch = new RedisWatch({ redisUrl, redisPrefix, log })
  const alerts = startAlerts({
    pool,
    redis,
    redisUrl,
    redisPrefix,
    queuePrefix: queuePrefix(redisPrefix),
    takesNoJobs: () => redisWatch.problem !== null,
    now: clock.now,
    log,
    ...(options.alertPauseMs === undefined ? {} : { firstPauseMs: options.alertPauseMs }),
  })

  const priceRefresh = options.priceRefresh ?? null
  const refreshing = createPriceRefresher({ pool, config: priceRefresh, log })
  const jobs: Readonly<Record<string, (subject: string, isRepeat: boolean) => Promise<void>>> = {
    'roll-up': (stream) => shards.drain(stream),
    prune: async () => {
      const streams = await selectStreams(pool, clock)
      if (clock.isFar) {
        log.warn({ event: 'queue.prune_postponed' }, 'nothing is pruned: the clocks differ, see doctor')
        return
      }
      const pruned = await prune(pool, callRetentionDays)
      callDays.invalidate()
      // Only a hint, recreated so that past producers do not stay in it for ever.
      for (const stream of streams) await redis.del(offsetsName(redisPrefix, stream))
      if (pruned !== null)
        log.info({ event: 'queue.pruned', ...pruned }, 'old partitions and identifiers were deleted')
    },
    verify: async () => {
      const found = await verify(pool, log)
      if (found !== null)
        await alerts.raise('books', [booksDiffer(found.differences, found.since, utcDayOf(clock.now()))])
    },
    ...alerts.jobs,
    summarise: () => sumUpDays(pool, log),
    'tried-limits': createTriedCount(() => countTried(pool, clock.now())),
    invoices: (_, isRepeat) =>
      takeInvoices({
        pool,
        adminKeys: options.adminKeys ?? NO_KEYS,
        today: utcDayOf(clock.now()),
        log,
        isRepeat,
      }),
    'refresh-prices': (_, isRepeat) => refreshing.run(isRepeat),
    // Not awaited: upstreams may be slow and must not delay the roll-up.
    'fetch-jobs': async () => {
      jobFetcher?.run().then(
        (done) => done.fetched > 0 && log.info({ event: 'jobs.fetched', ...done }, 'jobs fetched'),
        (err: unknown) => log.warn({ event: 'jobs.fetch_failed', err }, 'jobs could not be fetched'),
      )
    },
  }
  const queue = openJobQueue({
    redisUrl,
    prefix: queuePrefix(redisPrefix),
    run: async (job, subject, isRepeat) => await jobs[job]?.(subject, isRepeat),
    log,
  })

  const claim = claimPrefix({
    pool,
    redis,
    redisPrefix,
    key: databaseName(redisPrefix),
    onChange: (isHeld) => {
      queue.takeJobs(isHeld)
      alerts.takeJobs(isHeld)
    },
    log,
  })
  const ownStream = streamName(redisPrefix, 0)
  const shards = startShards({
    redisUrl,
    drain,
    leases: new Leases(redis, redisPrefix, randomUUID()),
    async listStreams() {
      const streams = await selectStreams(pool, clock)
      if (streams.includes(ownStream)) return streams
      await registerStream(pool, ownStream)
      return [...streams, ownStream]
    },
    mayDrain: () => claim.isHeld,
    log,
  })
  const schedules = [
    // Named after its retention: a changed retention is a new schedule, which runs at once.
    daily('prune', `prune/${callRetentionDays}`),
    daily('verify', 'verify'),
    INVOICES,
    SUM_UP,
    TRIED_LIMITS,
    ...ALERT_SCHEDULES,
    ...(jobFetcher === null ? [] : [FETCH_JOBS]),
    ...(priceRefresh === null ? [] : [REFRESH_PRICES]),
  ]
  const scheduling = repeat(async () => {
    const { streams } = shards
    queue.allow(streams.length + SPARE_JOBS)
    await queue.keepScheduled([...schedules, ...streams.map(rollUpOf)])
  }, SCHEDULE_EVERY_MS)

  const announced = keepAnnounced({
    pool,
    kind: 'worker',
    connections: { max: MAX_CONNECTIONS },
    clock,
    report: async () => ({
      ...NOTHING_REPORTED,
      host: hostname(),
      startedAtMs,
      version: VERSION,
      shards: [...shards.counted()],
    }),
  })
  const problem = () => findIllness({ pool, redis: async () => redis, redisPrefix, nowMs: clock.now() })
  const readLag = async (stream: string) => ({ shard: stream, ...(await readStreamBacklog(redis, stream)) })
  const view: WorkerView = {
    sums: () => shards.sums,
    lags: () => withinDeadline(Promise.all(shards.counted().map(readLag)), SCRAPE_MS),
    problem,
  }
  return {
    sums: shards.sums,
    view,
    async close() {
      await settledWithin(announced.stop(), POOL_END_MS)
      const loops = Promise.all([scheduling.stop(), claim.close()])
      await Promise.all([settledWithin(loops, TRANSACTION_END_MS), shards.close()])
      await Promise.all([queue.close(), alerts.close()])
      await toKafka?.sender.close()
      await billing.close()
      await settledWithin(following?.stop() ?? Promise.resolve(), POOL_END_MS)
      await settledWithin(jobFetcher?.close() ?? Promise.resolve(), TRANSACTION_END_MS)
      redisWatch.stop()
      redis.disconnect()
      await settledWithin(pool.end(), POOL_END_MS)
    },
  }
}

/** Begins to count the stream in the worker that is dealt it. */
function rollUpOf(stream: string): Schedule {
  return {
    id: `roll-up/${stream.replaceAll(':', '/')}`,
    job: 'roll-up',
    subject: stream,
    everyMs: ROLL_UP_EVERY_MS,
  }
}

/** Soon after a day is closed, and soon after one was written again. */
const SUM_UP: Schedule = { id: 'summarise', job: 'summarise', subject: '', everyMs: SUM_UP_EVERY_MS }
const TRIED_LIMITS: Schedule = { id: 'tried-limits', job: 'tried-limits', subject: '', everyMs: 60_000 }
const FETCH_JOBS: Schedule = { id: 'fetch-jobs', job: 'fetch-jobs', subject: '', everyMs: FETCH_EVERY_MS }

const NO_KEYS: AdminKeys = { openai: null, anthropic: null }

/** After a provider that is away, some times more; else daily. */
const INVOICES: Schedule = {
  ...daily('invoices', 'invoices'),
  retry: { attempts: 6, firstAfterMs: 60_000 },
}

/** Runs at once when first scheduled, then daily at that time. */
const REFRESH_PRICES: Schedule = {
  ...daily('refresh-prices', 'refresh-prices'),
  retry: { attempts: 6, firstAfterMs: 60_000 },
}

function daily(job: string, id: string): Schedule {
  return { id, job, subject: '', everyMs: DAY_MS }
}
