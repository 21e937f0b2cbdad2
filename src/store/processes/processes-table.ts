import { hostname } from 'node:os'
import { repeat } from '../../lib/repeat.ts'
import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'
import { type ProcessReport, parseReport } from './process-report.ts'
import type { StoreClock } from './store-clock.ts'

export type ProcessKind = 'gateway' | 'worker'

/** A gateway or a worker that runs, as it last said of itself. */
export interface RunningProcess {
  /** `host:pid`. */
  readonly process: string
  readonly kind: ProcessKind
  /** Connections to Postgres that it may take. */
  readonly maxConnections: number
  /** How far Postgres's clock is ahead of its own; `null`: not known. */
  readonly clockOffsetMs: number | null
  /** Absent: it has nothing else to say. */
  readonly report?: ProcessReport | null
}

/** A process that ran within a day, and did not say that it stops. */
export interface Heartbeat extends RunningProcess {
  readonly report: ProcessReport | null
  readonly saidAt: Date
  /** Since it was last heard of. */
  readonly silentMs: number
}

/** How often a process says it, at least. */
export const ANNOUNCE_MS = 5_000
/** A process that was not heard of for so long is silent. */
export const HEARTBEAT_LATE_MS = 15_000
/** For so long the connections of a silent process may be open still: no other takes them. */
const SILENT_SECONDS = 45

/** SQL: a process that runs. */
export const LIVE = `at > now() - make_interval(secs => ${SILENT_SECONDS})`

/** @throws When Postgres is away. */
export async function announceProcess(pool: Postgres, running: RunningProcess): Promise<void> {
  const { process, kind, maxConnections, clockOffsetMs, report = null } = running
  await pool.query(
    `insert into ${SCHEMA}.processes (process, kind, max_connections, clock_offset_ms, report) values ($1, $2, $3, $4, $5)
     on conflict (process, kind) do update set max_connections = excluded.max_connections,
       clock_offset_ms = excluded.clock_offset_ms, report = excluded.report, at = now()`,
    [
      process,
      kind,
      maxConnections,
      clockOffsetMs === null ? null : Math.round(clockOffsetMs),
      report === null ? null : JSON.stringify(report),
    ],
  )
}

/** A process that stops says this last. */
export async function withdrawProcess(
  pool: Postgres,
  { process, kind }: Pick<RunningProcess, 'process' | 'kind'>,
): Promise<void> {
  await pool.query(`delete from ${SCHEMA}.processes where process = $1 and kind = $2`, [process, kind])
}

/** All that were heard of within a day and did not say that they stop, by their names. */
export async function selectHeartbeats(pool: Postgres): Promise<readonly Heartbeat[]> {
  const { rows } = await pool.query<{
    process: string
    kind: ProcessKind
    max_connections: number
    clock_offset_ms: string | null
    report: unknown
    at: Date
    silent_ms: string
  }>(
    `select process, kind, max_connections, clock_offset_ms, report, at,
       extract(epoch from clock_timestamp() - at) * 1000 as silent_ms
     from ${SCHEMA}.processes where at > now() - interval '1 day' order by kind, process`,
  )
  return rows.map((row) => ({
    process: row.process,
    kind: row.kind,
    maxConnections: row.max_connections,
    clockOffsetMs: row.clock_offset_ms === null ? null : Number(row.clock_offset_ms),
    report: parseReport(row.report),
    saidAt: row.at,
    silentMs: Number(row.silent_ms),
  }))
}

/** Those that run, by their names. */
export async function selectProcesses(pool: Postgres): Promise<readonly RunningProcess[]> {
  const { rows } = await pool.query<{
    process: string
    kind: ProcessKind
    max_connections: number
    clock_offset_ms: string | null
  }>(
    `select process, kind, max_connections, clock_offset_ms from ${SCHEMA}.processes
     where ${LIVE} order by kind, process`,
  )
  return rows.map((row) => ({
    process: row.process,
    kind: row.kind,
    maxConnections: row.max_connections,
    clockOffsetMs: row.clock_offset_ms === null ? null : Number(row.clock_offset_ms),
  }))
}

/** The connections of a Postgres server, and what the processes that run may take of them. */
interface ConnectionUse {
  /** `max_connections`, and those of them that only superusers get. */
  readonly most: number
  readonly reserved: number
  readonly inUse: number
  /** In use by programs other than tallygate. */
  readonly others: number
  readonly gateways: number
  /** All gateways together, as they last said. */
  readonly gatewaysMay: number
  readonly workers: number
  readonly workersMay: number
}

/** For commands, `migrate`, and processes that are just starting. */
export const SPARE_CONNECTIONS = 6

/** @throws When Postgres is away. */
export async function selectConnectionUse(pool: Postgres): Promise<ConnectionUse> {
  const { rows } = await pool.query<Record<keyof ConnectionUse, number>>(
    `select current_setting('max_connections')::int as most,
       current_setting('superuser_reserved_connections')::int
         + coalesce(current_setting('reserved_connections', true)::int, 0) as reserved,
       a.*, p.*
     from (select count(*)::int as "inUse",
         count(*) filter (where coalesce(application_name, '') not like 'tallygate%')::int as others
       from pg_stat_activity where datid is not null) a,
       (select count(*) filter (where kind = 'gateway')::int as gateways,
         count(*) filter (where kind = 'worker')::int as workers,
         coalesce(sum(max_connections) filter (where kind = 'gateway'), 0)::int as "gatewaysMay",
         coalesce(sum(max_connections) filter (where kind = 'worker'), 0)::int as "workersMay"
       from ${SCHEMA}.processes where ${LIVE}) p`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('Postgres said nothing of its connections')
  return row
}

/** An equal part for each gateway process of what workers, commands and other programs leave. */
export function shareOf({ most, reserved, others, workersMay, gateways }: ConnectionUse): number {
  return Math.floor((most - reserved - others - workersMay - SPARE_CONNECTIONS) / Math.max(1, gateways))
}

interface AnnounceOptions {
  readonly pool: Postgres
  readonly kind: ProcessKind
  /** The connections that it may take; with `allow` it gets its part of Postgres's connections each time. */
  readonly connections: { readonly max: number; readonly allow?: (connections: number) => void }
  readonly clock: StoreClock
  /** What else it says of itself. */
  readonly report: () => Promise<ProcessReport | null>
}

const CHECK_MS = 1_000
/** Without Postgres nothing changes. */
const ignore = () => {}

/**
 * Says in Postgres that this process runs, for `doctor` and for alerts: how many connections it may take, and how far
 * its clock is off. It says so at once where that begins or ends. Without Postgres it waits.
 */
export function keepAnnounced({ pool, kind, connections, clock, report }: AnnounceOptions): {
  stop(): Promise<void>
} {
  const name = { process: `${hostname()}:${process.pid}`, kind }
  let said: { readonly atMs: number; readonly clock: string } | null = null
  const repeated = repeat(async () => {
    const state = clock.offsetMs === null ? 'unknown' : clock.isOff ? 'off' : 'right'
    const isDue = said?.clock !== state || performance.now() - said.atMs >= ANNOUNCE_MS
    if (!isDue) return
    const { max: maxConnections } = connections
    const running = { ...name, maxConnections, clockOffsetMs: clock.provenOffsetMs, report: await report() }
    const isSaid = await announceProcess(pool, running).then(
      () => true,
      () => false,
    )
    if (!isSaid) return
    said = { atMs: performance.now(), clock: state }
    if (connections.allow === undefined) return
    await selectConnectionUse(pool).then((use) => connections.allow?.(shareOf(use)), ignore)
  }, CHECK_MS)
  return {
    async stop() {
      await repeated.stop()
      await withdrawProcess(pool, name).catch(() => {})
    },
  }
}
