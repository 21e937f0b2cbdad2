import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** A call that had a response made under an id that was counted before. */
export interface Collision {
  readonly day: UtcDay
  readonly upstream: string
}

/** Adds to the days' counts, whose rows are locked in the order of their key. */
export async function addCollisions(
  session: PostgresSession,
  collisions: readonly Collision[],
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.response_collisions as r (day, upstream, calls)
     select day, upstream, count(*) from unnest($1::date[], $2::text[]) as c (day, upstream)
     group by day, upstream order by day, upstream
     on conflict (day, upstream) do update set calls = r.calls + excluded.calls`,
    [collisions.map(({ day }) => day), collisions.map(({ upstream }) => upstream)],
  )
}

export interface UpstreamCollisions {
  readonly upstream: string
  readonly calls: bigint
}

/** Calls since `fromDay` (`null`: ever), by upstream; those with most first. */
export async function selectCollisions(
  pool: Postgres,
  fromDay: UtcDay | null,
): Promise<UpstreamCollisions[]> {
  const { rows } = await pool.query<{ upstream: string; calls: string }>(
    `select upstream, sum(calls) as calls from ${SCHEMA}.response_collisions
     where $1::date is null or day >= $1 group by upstream order by calls desc, upstream`,
    [fromDay],
  )
  return rows.map(({ upstream, calls }) => ({ upstream, calls: BigInt(calls) }))
}

/** Rows in one statement, so that none runs for long. */
const DELETE_AT_A_TIME = 10_000

/**
 * Prunes the responses that were counted, and last reported, more than `days` days ago. A job stays while its object is
 * known: providers list jobs for years.
 *
 * @returns How many.
 */
export async function pruneResponses(session: PostgresSession, days: number): Promise<number> {
  let pruned = 0
  for (;;) {
    const { rowCount } = await session.query(
      `delete from ${SCHEMA}.responses_seen where ctid = any(array(
         select ctid from ${SCHEMA}.responses_seen r where seen_at < now() - make_interval(days => $1)
           and not exists (select from ${SCHEMA}.objects o
             where o.upstream = r.upstream and o.folded_id = lower(r.response_id) and o.job)
         limit $2))`,
      [days, DELETE_AT_A_TIME],
    )
    pruned += rowCount ?? 0
    if ((rowCount ?? 0) < DELETE_AT_A_TIME) return pruned
  }
}
