import { JOB_COLUMNS, type JobRow, jobFrom, type KeptJob } from '../src/objects/table/jobs-table.ts'
import type { ObjectKey } from '../src/objects/table/objects-table.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'
import { SCHEMA } from '../src/store/connection/schema.ts'

/** Older ones are gone from their providers. */
const MAX_AGE_DAYS = 40
/** A claim lasts this long, longer than a fetch may take. */
const CLAIM_MINUTES = 10

/**
 * Claims the jobs that are due, so that two workers never fetch the same one. Those that waited longest come
 * first. One that was never asked for is due at `minAgeSeconds`; whose result may have been read elsewhere, at once.
 */
export async function claimJobs(
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
         and coalesce(fetch_after, created_at + make_interval(secs => $3)) <= now()
       order by coalesce(fetch_after, created_at) limit $4 for update skip locked)
     returning ${JOB_COLUMNS}`,
    [upstreams, kinds, minAgeSeconds, limit],
  )
  return rows.map(jobFrom)
}

/** A running job is fetched again after a tenth of its age, at least a minute and at most an hour later. */
export async function postponeJob(pool: Postgres, { upstream, foldedId }: ObjectKey): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.objects
     set fetch_after = now() + least(interval '1 hour', greatest(interval '1 minute', (now() - created_at) / 10))
     where upstream = $1 and folded_id = $2`,
    [upstream, foldedId],
  )
}

/** Of a job that was fetched and could not be counted: it is due again. */
export async function releaseJob(pool: Postgres, { upstream, foldedId }: ObjectKey): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.objects set fetch_after = now()
     where upstream = $1 and folded_id = $2 and settled_at is null`,
    [upstream, foldedId],
  )
}
