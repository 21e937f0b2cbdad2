import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

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
