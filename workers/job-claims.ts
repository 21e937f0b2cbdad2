import type { Postgres } from '../src/store/connection/postgres.ts'
import { SCHEMA } from '../src/store/connection/schema.ts'

/** A job that is to be fetched. */
export interface ClaimedJob {
  readonly upstream: string
  readonly foldedId: string
  readonly id: string
  readonly kind: string
  /** Of the call that submitted it, an upstream's prefix taken off. */
  readonly path: string
  /** When that call arrived. */
  readonly createdAtMs: number
  /** The client that submitted it, whose markups apply; `null`: no longer known. */
  readonly clientName: string | null
}

/** Older ones are gone from their providers. */
const MAX_AGE_DAYS = 40
/** A claim lasts this long, longer than a fetch may take. */
const CLAIM_MINUTES = 10

/**
 * Claims the jobs that are due, so that two workers never fetch the same one. Those that waited longest come
 * first.
 */
export async function claimJobs(
  pool: Postgres,
  upstreams: readonly string[],
  kinds: readonly string[],
  { minAgeSeconds, limit }: { readonly minAgeSeconds: number; readonly limit: number },
): Promise<readonly ClaimedJob[]> {
  const { rows } = await pool.query<{
    upstream: string
    folded_id: string
    id: string
    kind: string
    path: string
    created_at: Date
    client: string | null
  }>(
    `update ${SCHEMA}.objects o set fetch_after = now() + make_interval(mins => ${CLAIM_MINUTES})
     where (upstream, folded_id) in (
       select upstream, folded_id from ${SCHEMA}.objects
       where job and settled_at is null and deleted_at is null and upstream = any($1) and kind = any($2)
         and created_at between now() - interval '${MAX_AGE_DAYS} days' and now() - make_interval(secs => $3)
         and (fetch_after is null or fetch_after <= now())
       order by fetch_after nulls first, created_at limit $4 for update skip locked)
     returning upstream, folded_id, id, kind, path, created_at,
       (select c.name from ${SCHEMA}.clients c where c.id = o.client_id) as client`,
    [upstreams, kinds, minAgeSeconds, limit],
  )
  return rows.map((row) => ({
    upstream: row.upstream,
    foldedId: row.folded_id,
    id: row.id,
    kind: row.kind,
    path: row.path,
    createdAtMs: row.created_at.getTime(),
    clientName: row.client,
  }))
}

/** A running job is fetched again after a tenth of its age, at least a minute and at most an hour later. */
export async function postponeJob(pool: Postgres, { upstream, foldedId }: ClaimedJob): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.objects
     set fetch_after = now() + least(interval '1 hour', greatest(interval '1 minute', (now() - created_at) / 10))
     where upstream = $1 and folded_id = $2`,
    [upstream, foldedId],
  )
}
