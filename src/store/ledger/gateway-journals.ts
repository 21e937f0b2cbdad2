import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/** The journal of one gateway process: only that process sees its disk. */
export interface GatewayJournal {
  readonly uncommittedRecords: number
  readonly uncommittedBytes: number
  /** JOURNAL_MAX_BYTES. */
  readonly maxBytes: number
  /** How long the oldest uncommitted record has waited. */
  readonly oldestUncommittedMs: number
}

/**
 * From this age of its oldest record on a gateway says at once that its records wait. A finished call is counted within
 * two seconds.
 */
export const LATE_MS = 5_000
/** A gateway that has not said it for so long has stopped, or cannot reach Postgres. */
const SILENT_SECONDS = 60

/** @param gateway Names the process. */
export async function recordGatewayJournal(
  pool: Postgres,
  gateway: string,
  journal: GatewayJournal,
): Promise<void> {
  const { uncommittedRecords, uncommittedBytes, maxBytes, oldestUncommittedMs } = journal
  await pool.query(
    `insert into ${SCHEMA}.gateway_journals
       (gateway, uncommitted_records, uncommitted_bytes, max_bytes, oldest_uncommitted_ms)
     values ($1, $2, $3, $4, $5)
     on conflict (gateway) do update set uncommitted_records = excluded.uncommitted_records,
       uncommitted_bytes = excluded.uncommitted_bytes, max_bytes = excluded.max_bytes,
       oldest_uncommitted_ms = excluded.oldest_uncommitted_ms, at = now()`,
    [gateway, uncommittedRecords, uncommittedBytes, maxBytes, Math.round(oldestUncommittedMs)],
  )
}

/** Ends the row of a gateway process. Of last records that it could not report, their adopter reports. */
export async function deleteGatewayJournal(pool: Postgres, gateway: string): Promise<void> {
  await pool.query(`delete from ${SCHEMA}.gateway_journals where gateway = $1`, [gateway])
}

/**
 * A gateway process that runs, and how long its oldest record waits by now, in milliseconds; 0: none waits for long.
 */
export interface GatewayLag {
  readonly gateway: string
  readonly oldestMs: number
}

export async function selectGatewayLags(pool: Postgres): Promise<readonly GatewayLag[]> {
  const { rows } = await pool.query<{ gateway: string; oldest_ms: string }>(
    `select gateway, case when oldest_uncommitted_ms < ${LATE_MS} then 0
       else extract(epoch from clock_timestamp() - at) * 1000 + oldest_uncommitted_ms end as oldest_ms
     from ${SCHEMA}.gateway_journals where at > now() - make_interval(secs => ${SILENT_SECONDS})`,
  )
  return rows.map((row) => ({ gateway: row.gateway, oldestMs: Number(row.oldest_ms) }))
}

/** How many gateways said last that a record from before then is not counted, those that are silent since too. */
export async function countJournalsFrom(pool: Postgres, before: Date): Promise<number> {
  const { rows } = await pool.query<{ journals: string }>(
    `select count(*) as journals from ${SCHEMA}.gateway_journals
     where uncommitted_records > 0 and at - make_interval(secs => oldest_uncommitted_ms / 1000.0) < $1`,
    [before],
  )
  return Number(rows[0]?.journals ?? '0')
}

/** The gateways that run, by their names. */
export async function selectGatewayJournals(
  pool: Postgres,
): Promise<readonly (GatewayJournal & { readonly gateway: string })[]> {
  const { rows } = await pool.query<{
    gateway: string
    uncommitted_records: string
    uncommitted_bytes: string
    max_bytes: string
    oldest_uncommitted_ms: string
  }>(
    `select * from ${SCHEMA}.gateway_journals
     where at > now() - make_interval(secs => ${SILENT_SECONDS}) order by gateway`,
  )
  return rows.map((row) => ({
    gateway: row.gateway,
    uncommittedRecords: Number(row.uncommitted_records),
    uncommittedBytes: Number(row.uncommitted_bytes),
    maxBytes: Number(row.max_bytes),
    oldestUncommittedMs: Number(row.oldest_uncommitted_ms),
  }))
}
