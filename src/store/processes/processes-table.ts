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
/** A process that was not heard of for so long is silent: it missed two times. */
export const HEARTBEAT_LATE_MS = 12_000
/** For so long the connections of a silent process may be open still: no other takes them. */
const SILENT_SECONDS = 45

/** SQL: a process that runs. */
export const LIVE = `at > now() - make_interval(secs => ${SILENT_SECONDS})`

/**
 * @returns When an operator last asked the process to read its configuration again; `null`: never.
 * @throws When Postgres is away.
 */
export async function announceProcess(pool: Postgres, running: RunningProcess): Promise<Date | null> {
  const { process, kind, maxConnections, clockOffsetMs, report = null } = running
  const { rows } = await pool.query<{ reload_asked_at: Date | null }>(
    `insert into ${SCHEMA}.processes (process, kind, max_connections, clock_offset_ms, report) values ($1, $2, $3, $4, $5)
     on conflict (process, kind) do update set max_connections = excluded.max_connections,
       clock_offset_ms = excluded.clock_offset_ms, report = excluded.report, at = now()
     returning reload_asked_at`,
    [
      process,
      kind,
      maxConnections,
      clockOffsetMs === null ? null : Math.round(clockOffsetMs),
      report === null ? null : JSON.stringify(report),
    ],
  )
  return rows[0]?.reload_asked_at ?? null
}

/** A process that stops says this last. Tells whether it was known. */
export async function withdrawProcess(
  pool: Postgres,
  { process, kind }: Pick<RunningProcess, 'process' | 'kind'>,
): Promise<boolean> {
  const { rowCount } = await pool.query(`delete from ${SCHEMA}.processes where process = $1 and kind = $2`, [
    process,
    kind,
  ])
  return rowCount === 1
}

/**
 * Removes one process of the same host that ended without a word, as this one runs in its place; a second one that
 * ended is still missed. One that only hangs has a pid, and stays.
 *
 * @param adminAddress Of gateways: several of one host differ by it.
 */
async function replaceDead(
  pool: Postgres,
  { process: own, kind }: Pick<RunningProcess, 'process' | 'kind'>,
  adminAddress: string | null,
): Promise<void> {
  const { host } = splitName(own)
  const heartbeats = await selectHeartbeats(pool)
  const dead = heartbeats.filter((one) => {
    const { host: theirs, pid } = splitName(one.process)
    const isHere = one.kind === kind && theirs === host && (one.report?.adminAddress ?? null) === adminAddress
    return isHere && one.process !== own && !isAlive(pid)
  })
  for (const one of dead.toSorted((a, b) => b.silentMs - a.silentMs))
    if (await withdrawProcess(pool, one)) return
}

/** `host:pid`, in its parts. */
function splitName(process: string): { readonly host: string; readonly pid: number } {
  const at = process.lastIndexOf(':')
  return { host: process.slice(0, at), pid: Number(process.slice(at + 1)) }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Drops a process that is silent. False: there is none of that name, or it runs. */
export async function dismissProcess(pool: Postgres, process: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from ${SCHEMA}.processes
     where process = $1 and at < clock_timestamp() - make_interval(secs => ${HEARTBEAT_LATE_MS / 1000})`,
    [process],
  )
  return (rowCount ?? 0) > 0
}

/**
 * Asks all gateways that run to read their configuration again. Each takes it with what it says of itself next.
 *
 * @returns When, by Postgres's clock, in whole milliseconds.
 */
export async function askForReload(pool: Postgres): Promise<Date> {
  const { rows } = await pool.query<{ at: Date }>(
    `with asked as (select date_trunc('milliseconds', clock_timestamp()) as at),
       told as (update ${SCHEMA}.processes p set reload_asked_at = asked.at from asked
         where p.kind = 'gateway' and p.${LIVE})
     select at from asked`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('Postgres said no time')
  return row.at
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
  /** The rest of what it says of itself. */
  readonly report: () => Promise<Omit<ProcessReport, 'steadyMs'>>
  /** An operator asks it to read its configuration again. What comes of it is said at once. */
  readonly onReloadAsked?: (askedAtMs: number) => void
  /** Absent: 5 s. */
  readonly announceMs?: number
}

const CHECK_MS = 1_000
/** Without Postgres nothing changes. */
const ignore = () => {}

/**
 * Says in Postgres that this process runs, for `doctor` and for alerts: how many connections it may take, and how far
 * its clock is off. It says so at once where that begins or ends, or where something else of urgency does. Without
 * Postgres it waits, and says it within a second of its return.
 */
export function keepAnnounced(options: AnnounceOptions): {
  stop(): Promise<void>
} {
  const { pool, kind, connections, clock, report, onReloadAsked, announceMs = ANNOUNCE_MS } = options
  const name = { process: `${hostname()}:${process.pid}`, kind }
  let said: { readonly atMs: number; readonly urgent: string } | null = null
  /** `undefined`: nothing was said yet, and a wish of before was one to a process that had its name. */
  let askedAtMs: number | null | undefined
  let steadySinceMs = 0
  let mayReplace = true
  const repeated = repeat(async () => {
    const reported = await report()
    const clockState = clock.offsetMs === null ? 'unknown' : clock.isOff ? 'off' : 'right'
    const urgent = `${clockState} ${urgencyOf(reported)}`
    const atMs = performance.now()
    if (said?.urgent === urgent && atMs - said.atMs < announceMs) return
    if (said === null || atMs - said.atMs > HEARTBEAT_LATE_MS) steadySinceMs = atMs
    const running = {
      ...name,
      maxConnections: connections.max,
      clockOffsetMs: clock.provenOffsetMs,
      report: { ...reported, steadyMs: Math.round(atMs - steadySinceMs) },
    }
    const asked = await announceProcess(pool, running).catch(() => undefined)
    if (asked === undefined) return
    said = { atMs, urgent }
    const newlyAskedAtMs = asked?.getTime() ?? null
    if (askedAtMs !== undefined && newlyAskedAtMs !== null && newlyAskedAtMs !== askedAtMs)
      onReloadAsked?.(newlyAskedAtMs)
    askedAtMs = newlyAskedAtMs
    if (mayReplace)
      mayReplace = !(await replaceDead(pool, name, reported.adminAddress).then(
        () => true,
        () => false,
      ))
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

/** The part that is said at once where it changes. */
function urgencyOf(report: Omit<ProcessReport, 'steadyMs'>): string {
  const { configuration, journalWritable, certificateEndsAtMs, reload, upstreams } = report
  const failing = upstreams.flatMap(({ upstream, refusesCredential, causeInARow }) =>
    refusesCredential || causeInARow !== null ? [[upstream, refusesCredential, causeInARow]] : [],
  )
  return JSON.stringify([configuration, journalWritable, certificateEndsAtMs, reload, failing])
}
