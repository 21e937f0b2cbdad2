import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

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
}

/** How often a process says it, at least. */
export const ANNOUNCE_MS = 10_000
/** A process that has not said it for so long has stopped, or cannot reach Postgres. */
const SILENT_SECONDS = 45

/** SQL: a process that runs. */
export const LIVE = `at > now() - make_interval(secs => ${SILENT_SECONDS})`

/** @throws When Postgres is away. */
export async function announceProcess(pool: Postgres, running: RunningProcess): Promise<void> {
  const { process, kind, maxConnections, clockOffsetMs } = running
  await pool.query(
    `insert into ${SCHEMA}.processes (process, kind, max_connections, clock_offset_ms) values ($1, $2, $3, $4)
     on conflict (process, kind) do update set max_connections = excluded.max_connections,
       clock_offset_ms = excluded.clock_offset_ms, at = now()`,
    [process, kind, maxConnections, clockOffsetMs === null ? null : Math.round(clockOffsetMs)],
  )
}

/** What a process that stops says last. */
export async function withdrawProcess(
  pool: Postgres,
  { process, kind }: Pick<RunningProcess, 'process' | 'kind'>,
): Promise<void> {
  await pool.query(`delete from ${SCHEMA}.processes where process = $1 and kind = $2`, [process, kind])
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
