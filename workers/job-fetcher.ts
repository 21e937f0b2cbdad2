import type { CallRecord } from '../src/call/call-record.ts'
import { serialiseRecord } from '../src/call/codec/record-codec.ts'
import type { JobFetchConfig } from '../src/config/yaml/job-fetch-config.ts'
import { openCredential } from '../src/gateway/credentials/fetched-credential.ts'
import { FETCHED_KINDS, fetchJob, HANDED_OUT_ONCE, type PageCounter } from '../src/gateway/jobs/fetch-job.ts'
import { credentialHeader } from '../src/gateway/proxy/headers/headers.ts'
import { buildPricing } from '../src/gateway/recording/pricing.ts'
import { openPool, type Upstream } from '../src/gateway/routing/upstream-table.ts'
import type { Logger } from '../src/lib/logger.ts'
import { JOB_COLUMNS, type JobRow, jobFrom, type KeptJob } from '../src/objects/table/jobs-table.ts'
import { type ObjectKey, setObjectsState } from '../src/objects/table/objects-table.ts'
import type { Catalog } from '../src/pricing/catalog/catalog.ts'
import type { RollUp } from '../src/rollup/rolled-up.ts'
import { inTransaction, type Postgres } from '../src/store/connection/postgres.ts'
import { SCHEMA } from '../src/store/connection/schema.ts'
import { readCommittedOffsets } from '../src/store/ledger/committed-offsets.ts'

/** Fetches jobs that their clients have not fetched, so that their usage is in the totals all the same. */
export interface JobFetcher {
  /** Fetches the jobs that are due, unless a fetch is running. Resolves when it has ended. */
  run(): Promise<JobsFetched>
  /** Sets the prices for later fetches. */
  takeCatalog(catalog: Catalog): void
  close(): Promise<void>
}

export interface JobsFetched {
  readonly fetched: number
  readonly counted: number
}

export interface JobFetcherOptions {
  readonly pool: Postgres
  readonly rollUp: RollUp
  readonly config: JobFetchConfig
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly log: Logger
  /** A client has this long to fetch its job itself. */
  readonly minAgeSeconds?: number
}

/**
 * Fetched usage is numbered as the records of one more producer with its own committed offset, so that it is
 * rolled up like everything else: a number counts at most once, and a job's usage once, whatever else fetches
 * it.
 */
const PRODUCER = 'fetched-jobs'
const STREAM = '(fetched jobs)'
const JOBS_AT_A_TIME = 20
/** One upstream that is slow must not hold up what others tell. */
const FETCHES_AT_A_TIME = 5
const MIN_AGE_SECONDS = 300
const POOL_LIMITS = { headersTimeoutMs: 60_000, idleTimeoutMs: 60_000 }

/** Older ones are gone from their providers. */
const MAX_AGE_DAYS = 40
/** A claim lasts this long, longer than a fetch may take. */
const CLAIM_MINUTES = 10

/**
 * Claims the jobs that are due, so that two workers never fetch the same one. Those that waited longest come
 * first. One that was never asked for is due at `minAgeSeconds`; whose result may have been read elsewhere, at once.
 */
async function claimJobs(
  pool: Postgres,
  upstreams: readonly string[],
  kinds: readonly string[],
  { minAgeSeconds, limit }: { readonly minAgeSeconds: number; readonly limit: number },
): Promise<readonly KeptJob[]> {
  const { rows } = await pool.query<JobRow>(
    `update ${SCHEMA}.objects o set fetch_after = now() + make_interval(mins => ${CLAIM_MINUTES})
     where (upstream, folded_id) in (
       select upstream, folded_id from ${SCHEMA}.objects
       where job and settled_at is null and upstream = any($1) and kind = any($2)
         and created_at >= now() - interval '${MAX_AGE_DAYS} days'
         and coalesce(fetch_after, created_at + make_interval(secs => case kind when $5 then $6::int else $3 end)) <= now()
       order by coalesce(fetch_after, created_at) limit $4 for update skip locked)
     returning ${JOB_COLUMNS}`,
    [upstreams, kinds, minAgeSeconds, limit, HANDED_OUT_ONCE.kind, HANDED_OUT_ONCE.minAgeSeconds],
  )
  return rows.map(jobFrom)
}

/** A running job is fetched again after a tenth of its age, at least a minute and at most an hour later. */
async function postponeJob(pool: Postgres, { upstream, foldedId }: ObjectKey): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.objects
     set fetch_after = now() + least(interval '1 hour', greatest(interval '1 minute', (now() - created_at) / 10))
     where upstream = $1 and folded_id = $2`,
    [upstream, foldedId],
  )
}

/** Of a job that was fetched and could not be counted: it is due again. */
async function releaseJob(pool: Postgres, { upstream, foldedId }: ObjectKey): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.objects set fetch_after = now()
     where upstream = $1 and folded_id = $2 and settled_at is null`,
    [upstream, foldedId],
  )
}

export function createJobFetcher(options: JobFetcherOptions): JobFetcher {
  const { pool, rollUp, config, log, now = Date.now, minAgeSeconds = MIN_AGE_SECONDS } = options
  // What clients made with credentials of their own, no one else can fetch.
  const reachable = config.upstreams.filter(({ takesClients }) => !takesClients)
  const upstreams = new Map(reachable.map((upstream) => [upstream.name, openUpstream(upstream, log)]))
  let pricing = buildPricing(config.catalog, config.listedModels)
  let running: Promise<JobsFetched> | null = null
  let counting: Promise<unknown> = Promise.resolve()
  let closed = false

  /** One after the other: they are numbered. */
  async function count(record: CallRecord): Promise<boolean> {
    const counted = counting.then(() => add(record))
    counting = counted.catch(() => {})
    return await counted
  }

  async function add(record: CallRecord): Promise<boolean> {
    const sequence = ((await readCommittedOffsets(pool, [PRODUCER])).get(PRODUCER) ?? 0) + 1
    const body = serialiseRecord(record)
    const numbered = { producer: PRODUCER, sequence, from: sequence, to: sequence, gapReason: null }
    // Busy, or the number was taken: nothing is counted, and the job is fetched again later.
    const { counted } = await rollUp(STREAM, [{ id: `${sequence}`, ...numbered, body, record }])
    return counted === 1
  }

  async function countPage(record: CallRecord): Promise<void> {
    if (!(await count(record))) throw new Error('a page of results could not be counted now')
  }

  async function fetch(job: KeptJob, upstream: Upstream, pages: PageCounter): Promise<boolean> {
    const found = await fetchJob(upstream, pricing, job, { now, pages })
    if (found.kind === 'told') {
      const isCounted = await count(found.record)
      if (!isCounted) await releaseJob(pool, job)
      return isCounted
    }
    // What was just made may not be found yet.
    const isYoung = now() - job.createdAtMs < minAgeSeconds * 1_000
    if (found.kind === 'running' || (found.why === 'gone' && isYoung)) await postponeJob(pool, job)
    else
      await inTransaction(pool, async (session) => {
        await setObjectsState(session, 'settled', [job])
        if (found.why !== 'silent') await setObjectsState(session, 'lost', [job])
      })
    return false
  }

  async function fetchAll(): Promise<JobsFetched> {
    const jobs = await claimJobs(pool, [...upstreams.keys()], FETCHED_KINDS, {
      minAgeSeconds,
      limit: JOBS_AT_A_TIME,
    })
    const pages: PageCounter = { count: countPage, readings: new Map() }
    let counted = 0
    const waiting = [...jobs]
    const fetchNext = async (): Promise<void> => {
      const job = waiting.shift()
      const upstream = job === undefined || closed ? undefined : upstreams.get(job.upstream)
      if (job === undefined || upstream === undefined) return
      try {
        if (await fetch(job, upstream, pages)) counted += 1
      } catch (err) {
        log.warn(
          { event: 'job.fetch_failed', err, upstream: job.upstream, job: job.id },
          'a job could not be fetched',
        )
      }
      await fetchNext()
    }
    await Promise.all(Array.from({ length: FETCHES_AT_A_TIME }, fetchNext))
    return { fetched: jobs.length, counted }
  }

  return {
    run() {
      running ??= fetchAll().finally(() => {
        running = null
      })
      return running
    },
    takeCatalog(catalog) {
      pricing = buildPricing(catalog, config.listedModels)
    },
    async close() {
      closed = true
      for (const { fetched } of upstreams.values()) fetched?.stop()
      await Promise.all([...upstreams.values()].map(({ pool: connections }) => connections.destroy()))
      await running?.catch(() => {})
    },
  }
}

function openUpstream(
  { apiKey, credentials, ...upstream }: JobFetchConfig['upstreams'][number],
  log: Logger,
): Upstream {
  return {
    ...upstream,
    host: new URL(upstream.origin).host,
    credential: apiKey === null ? null : credentialHeader(upstream.provider, apiKey),
    fetched: credentials === null ? null : openCredential(credentials, upstream.name, log),
    account: [upstream.name],
    mountedAt: '',
    publicUrl: null,
    ownsOrigins: false,
    pool: openPool(upstream.origin, POOL_LIMITS),
  }
}
