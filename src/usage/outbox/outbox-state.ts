import type { UtcDay } from '../../domain/utc-day.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** Where calls on their way to Kafka stand. */
export interface OutboxState {
  /** Whether a worker sends now, or tries to. */
  readonly held: boolean
  /** Until when one did. */
  readonly heldUntil: Date
  /** Since the outbox is in use. */
  readonly sentCalls: number
  readonly sentAt: Date | null
  /** As of a few seconds ago. */
  readonly waitingCalls: number
  readonly waitingBytes: number
  /** When the oldest waiting call was counted; `null`: none waits. */
  readonly oldestAt: Date | null
  /** What keeps calls from Kafka; `null`: nothing. */
  readonly problem: string | null
  /** Calls that were counted while the outbox was full, of the last 90 days; `null`: none. */
  readonly skipped: SkippedCalls | null
  /** All of them, since the outbox is in use. */
  readonly allSkipped: number
}

/** Calls that Kafka does not get, of the days from `from` to `to`. */
export interface SkippedCalls {
  readonly calls: number
  readonly from: UtcDay
  readonly to: UtcDay
  /** When the last of them was counted. */
  readonly at: Date
}

interface StateRow {
  readonly held: boolean
  readonly held_until: Date
  readonly sent_calls: string
  readonly sent_at: Date | null
  readonly waiting_calls: string
  readonly waiting_bytes: string
  readonly oldest_at: Date | null
  readonly problem: string | null
  readonly skipped_before: string
  readonly skipped_calls: string | null
  readonly skipped_from: UtcDay | null
  readonly skipped_to: UtcDay | null
  readonly skipped_at: Date | null
}

/** `null`: no worker has ever sent calls to Kafka. */
export async function selectOutboxState(pool: Postgres): Promise<OutboxState | null> {
  const { rows } = await pool.query<StateRow>(
    `select s.held_until > now() as held, s.*, k.* from ${SCHEMA}.call_outbox_state s,
       (select sum(calls) as skipped_calls, min(day) as skipped_from, max(day) as skipped_to, max(at) as skipped_at
        from ${SCHEMA}.call_outbox_skipped) k`,
  )
  const row = rows[0]
  if (row === undefined) return null
  return {
    held: row.held,
    heldUntil: row.held_until,
    sentCalls: Number(row.sent_calls),
    sentAt: row.sent_at,
    waitingCalls: Number(row.waiting_calls),
    waitingBytes: Number(row.waiting_bytes),
    oldestAt: row.oldest_at,
    problem: row.problem,
    skipped: skippedFrom(row),
    allSkipped: Number(row.skipped_before) + Number(row.skipped_calls ?? 0),
  }
}

function skippedFrom(row: StateRow): SkippedCalls | null {
  const { skipped_calls: calls, skipped_from: from, skipped_to: to, skipped_at: at } = row
  return calls === null || from === null || to === null || at === null
    ? null
    : { calls: Number(calls), from, to, at }
}

/** A worker that was killed is followed by another one after this time, by the database's clock. */
const LEASE_SECONDS = 15

/**
 * Makes `holder` the one that sends, or lets it go on.
 *
 * @returns `false`: another one sends.
 */
export async function holdOutbox(pool: Postgres, holder: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into ${SCHEMA}.call_outbox_state as s (holder, held_until)
     values ($1, now() + interval '${LEASE_SECONDS} s')
     on conflict (one) do update set holder = excluded.holder, held_until = excluded.held_until
     where s.holder = excluded.holder or s.held_until <= now()`,
    [holder],
  )
  return rowCount === 1
}

/** Lets another worker try at once, and says what went wrong here; `null`: nothing did. */
export async function leaveOutbox(pool: Postgres, holder: string, problem: string | null): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.call_outbox_state set held_until = now(), problem = coalesce($2, problem),
       problem_at = case when $2::text is null then problem_at else now() end
     where holder = $1`,
    [holder, problem],
  )
}

/** Says that nothing is wrong any more. */
export async function clearOutboxProblem(pool: Postgres): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.call_outbox_state set problem = null, problem_at = null where problem is not null`,
  )
}

/** Counts what waits, for those who look at the state. Reads the table's pages but no event. */
export async function measureOutbox(pool: Postgres): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.call_outbox_state
     set waiting_calls = w.calls, waiting_bytes = w.bytes, oldest_at = w.at
     from (select coalesce(sum(events), 0) as calls, coalesce(sum(octet_length(body)), 0) as bytes, min(at) as at
           from ${SCHEMA}.call_outbox) w`,
  )
}

/**
 * Whether workers send calls, until `discardOutbox`: then corrections go to Kafka too. It does not matter since when no
 * worker has: what is corrected while all of them stand still would be missing there for good.
 */
export async function isOutboxInUse(session: PostgresSession): Promise<boolean> {
  const { rowCount } = await session.query(`select from ${SCHEMA}.call_outbox_state`)
  return rowCount === 1
}

/** The bytes that waited when they were last counted. */
export async function selectWaitingBytes(session: PostgresSession): Promise<number> {
  const { rows } = await session.query<{ waiting_bytes: string }>(
    `select waiting_bytes from ${SCHEMA}.call_outbox_state`,
  )
  return Number(rows[0]?.waiting_bytes ?? 0)
}

/** Records calls that Kafka will not get, by the days that they arrived on. */
export async function addSkipped(
  session: PostgresSession,
  callsByDay: ReadonlyMap<UtcDay, number>,
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.call_outbox_skipped as s (day, backend, calls)
     select day, pg_backend_pid(), calls from unnest($1::date[], $2::bigint[]) as n (day, calls)
     on conflict (day, backend) do update set calls = s.calls + excluded.calls, at = now()`,
    [[...callsByDay.keys()], [...callsByDay.values()]],
  )
}

const SKIPPED_DAYS = 90

/** Deletes what is known of calls that were not sent long ago. Their number stays. */
export async function pruneSkipped(pool: Postgres): Promise<void> {
  await pool.query(
    `with gone as (
       delete from ${SCHEMA}.call_outbox_skipped where at < now() - interval '${SKIPPED_DAYS} days' returning calls)
     update ${SCHEMA}.call_outbox_state set skipped_before = skipped_before + gone.calls
     from (select coalesce(sum(calls), 0) as calls from gone) gone where gone.calls > 0`,
  )
}

/** Calls that waited and are not sent any more, and those that are known to have been left out. */
export interface DiscardedOutbox {
  readonly waitingCalls: number
  readonly skippedCalls: number
}

/** Deletes what waits for Kafka, and all figures of it. `null`: a worker sends, or tries to. */
export async function discardOutbox(pool: Postgres): Promise<DiscardedOutbox | null> {
  return await inTransaction(pool, async (session) => {
    // Its row is held until the end: a worker that begins to send waits, and then finds nothing.
    const { rows } = await session.query<{ held: boolean }>(
      `select held_until > now() as held from ${SCHEMA}.call_outbox_state for update`,
    )
    if (rows[0]?.held === true) return null
    const counted = await session.query<{ waiting: string; skipped: string }>(
      `with waiting as (delete from ${SCHEMA}.call_outbox returning events),
         skipped as (delete from ${SCHEMA}.call_outbox_skipped returning calls),
         state as (delete from ${SCHEMA}.call_outbox_state)
       select (select coalesce(sum(events), 0) from waiting) as waiting,
         (select coalesce(sum(calls), 0) from skipped) as skipped`,
    )
    const [deleted] = counted.rows
    return { waitingCalls: Number(deleted?.waiting ?? 0), skippedCalls: Number(deleted?.skipped ?? 0) }
  })
}
