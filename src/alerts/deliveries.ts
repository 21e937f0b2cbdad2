import type { AlertPayload } from '../domain/conditions/condition.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import type { StoredAlert } from './alert-body.ts'

/** A delivery whose attempt this process alone may make now. */
export interface ClaimedDelivery {
  readonly id: string
  readonly receiverId: string
  /** This one included. */
  readonly attempts: number
  readonly alert: StoredAlert
}

/** Longer than an attempt may take. A worker that was killed meanwhile is dead by then. */
const CLAIM_SECONDS = 30
/** Begins with this pause, and each further one is twice as long, up to the longest. */
export const FIRST_PAUSE_MS = 10_000
const LONGEST_PAUSE_MS = 3_600_000
/** An alert that could not be delivered for so long is given up. */
const TRIED_HOURS = 24

/** `null`: another worker has it, it is not its time, or it has ended. */
export async function claimDelivery(pool: Postgres, id: string): Promise<ClaimedDelivery | null> {
  const { rows } = await pool.query<{
    receiver_id: string
    attempts: number
    alert_id: string
    kind: string
    client: string | null
    at: Date
    payload: AlertPayload
  }>(
    `with claimed as (
       update ${SCHEMA}.alert_deliveries
       set attempts = attempts + 1, tried_at = now(), next_at = now() + make_interval(secs => ${CLAIM_SECONDS})
       where id = $1 and state = 'waiting' and next_at <= now()
       returning alert_id, receiver_id, attempts)
     select d.receiver_id, d.attempts, a.id as alert_id, a.kind, c.name as client, a.at, a.payload
     from claimed d join ${SCHEMA}.alerts a on a.id = d.alert_id
     left join ${SCHEMA}.clients c on c.id = a.client_id`,
    [id],
  )
  const [row] = rows
  if (row === undefined) return null
  const { kind, client, at, payload } = row
  return {
    id,
    receiverId: row.receiver_id,
    attempts: row.attempts,
    alert: { id: row.alert_id, kind, client, at, payload },
  }
}

export async function setDelivered(pool: Postgres, id: string, status: number): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.alert_deliveries set state = 'delivered', status = $2, error = null, delivered_at = now()
     where id = $1 and state = 'waiting'`,
    [id, status],
  )
}

/** How an attempt failed, and the pause after a first one. */
export interface FailedAttempt {
  /** `null`: there was no answer. */
  readonly status: number | null
  readonly error: string
  /** It is not to be tried again. */
  readonly isFinal: boolean
  readonly firstPauseMs: number
}

/**
 * Keeps why an attempt failed. It is tried again after a pause, which is also given to all others that wait for the
 * same receiver: a server that does not answer is asked by a few of them and not by all. After a day, or with
 * `isFinal`, it is given up.
 *
 * @returns In how many milliseconds it is tried again; `given_up`: it is not. `null`: this attempt took so long that
 *   another worker has taken its place.
 */
export async function setFailed(
  pool: Postgres,
  { id, receiverId, attempts }: ClaimedDelivery,
  { status, error, isFinal, firstPauseMs }: FailedAttempt,
): Promise<number | 'given_up' | null> {
  const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(attempts - 1, 20), LONGEST_PAUSE_MS)
  const { rows } = await pool.query<{ is_given_up: boolean }>(
    `with failed as (
       update ${SCHEMA}.alert_deliveries set status = $3, error = $4, next_at = now() + make_interval(secs => $5::double precision / 1000),
         state = case when $6 or created_at < now() - make_interval(hours => ${TRIED_HOURS})
           then 'given_up' else 'waiting' end
       where id = $1 and state = 'waiting' and attempts = $7
       returning state = 'given_up' as is_given_up),
     others as (
       update ${SCHEMA}.alert_deliveries set next_at = now() + make_interval(secs => $5::double precision / 1000)
       where receiver_id = $2 and id <> $1 and state = 'waiting' and next_at < now() + make_interval(secs => $5::double precision / 1000)
         and not $6 and exists (select from failed))
     select is_given_up from failed`,
    [id, receiverId, status, error, pauseMs, isFinal, attempts],
  )
  if (rows[0] === undefined) return null
  return rows[0].is_given_up ? 'given_up' : pauseMs
}

/** Those whose time has come, the oldest first: what the queue has lost, or what waits longer than it knows. */
export async function selectDueDeliveries(pool: Postgres, limit: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from ${SCHEMA}.alert_deliveries where state = 'waiting' and next_at <= now()
     order by next_at limit $1`,
    [limit],
  )
  return rows.map(({ id }) => id)
}

/** How long alerts are kept, longer than any period but one of a budget for all time, whose alerts stay. */
export const ALERT_DAYS = 90

/** Deletes alerts of periods that are long over, and what processes that are gone said of themselves. */
export async function pruneAlerts(session: Postgres | PostgresSession): Promise<number> {
  const { rowCount } = await session.query(
    `delete from ${SCHEMA}.alerts a where a.at < now() - make_interval(days => ${ALERT_DAYS})
     and (a.payload->'limit'->>'per') is distinct from 'total'
     and not exists (select from ${SCHEMA}.alert_deliveries d where d.alert_id = a.id and d.state = 'waiting')`,
  )
  await session.query(`delete from ${SCHEMA}.gateway_journals where at < now() - interval '1 day'`)
  await session.query(`delete from ${SCHEMA}.processes where at < now() - interval '1 day'`)
  await session.query(`delete from ${SCHEMA}.cut_off_gateways where at < now() - interval '1 day'`)
  return rowCount ?? 0
}
