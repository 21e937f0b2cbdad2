import type { UnsettledJob } from '../../domain/documents/job-document.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { ObjectKey } from './objects-table.ts'

/**
 * Corrects the models under which the calls that made these objects are totalled. `sorted` by upstream and id. An object
 * that another call had made before stays with that call's.
 */
export async function renameUnpriced(
  session: PostgresSession,
  sorted: readonly (ObjectKey & { readonly callId: string; readonly model: string })[],
): Promise<void> {
  await session.query(
    `update ${SCHEMA}.objects o set unpriced_as = k.model
     from unnest($1::text[], $2::text[], $3::uuid[], $4::text[]) as k (upstream, folded_id, call_id, model)
     where o.upstream = k.upstream and o.folded_id = k.folded_id and o.call_id = k.call_id and o.unpriced_as is not null`,
    [
      sorted.map(({ upstream }) => upstream),
      sorted.map(({ foldedId }) => foldedId),
      sorted.map(({ callId }) => callId),
      sorted.map(({ model }) => model),
    ],
  )
}

/** The jobs that left these files, by the ids of jobs as their makers were given them; nothing of others. */
export async function selectJobsOfFiles(
  session: PostgresSession,
  files: readonly ObjectKey[],
): Promise<readonly (ObjectKey & { readonly jobId: string })[]> {
  const { rows } = await session.query<{ upstream: string; folded_id: string; job_id: string }>(
    `select f.upstream, f.folded_id, j.id as job_id
     from unnest($1::text[], $2::text[]) as k (upstream, folded_id)
     join ${SCHEMA}.objects f using (upstream, folded_id)
     join ${SCHEMA}.objects j on j.upstream = f.upstream and j.folded_id = f.left_by and j.job`,
    [files.map(({ upstream }) => upstream), files.map(({ foldedId }) => foldedId)],
  )
  return rows.map((row) => ({ upstream: row.upstream, foldedId: row.folded_id, jobId: row.job_id }))
}

const UNSETTLED = 'job and settled_at is null and deleted_at is null'
const LISTED_JOBS = 1_000

/** The oldest thousand of them, the oldest first. */
export async function selectUnsettledJobs(
  pool: Postgres,
  clientName: string | null = null,
): Promise<readonly UnsettledJob[]> {
  const { rows } = await pool.query<{
    id: string
    kind: string
    upstream: string
    client_id: string
    client: string
    key_id: string
    model: string | null
    created_at: Date
  }>(
    `select o.id, o.kind, o.upstream, o.client_id, coalesce(c.name, o.client_id) as client, o.key_id, o.model,
       o.created_at
     from ${SCHEMA}.objects o left join ${SCHEMA}.clients c on c.id = o.client_id
     where ${UNSETTLED} and ($1::text is null or c.name = $1)
     order by o.created_at, o.upstream, o.folded_id limit ${LISTED_JOBS}`,
    [clientName],
  )
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    upstream: row.upstream,
    clientId: row.client_id,
    clientName: row.client,
    keyId: row.key_id,
    model: row.model,
    createdAt: row.created_at,
  }))
}

/** How many jobs have not reported what they used, and the oldest of them. */
export async function countUnsettledJobs(
  pool: Postgres,
): Promise<{ readonly jobs: number; readonly oldest: UnsettledJob | null }> {
  const { rows } = await pool.query<{ jobs: string }>(
    `select count(*) as jobs from ${SCHEMA}.objects where ${UNSETTLED}`,
  )
  const jobs = Number(rows[0]?.jobs ?? '0')
  return { jobs, oldest: jobs === 0 ? null : ((await selectUnsettledJobs(pool))[0] ?? null) }
}

/** How many jobs have not reported what they used, by upstream, and the oldest of each. */
export async function selectWaitingJobs(
  pool: Postgres,
): Promise<{ readonly upstream: string; readonly jobs: number; readonly oldestAt: Date }[]> {
  const { rows } = await pool.query<{ upstream: string; jobs: string; oldest: Date }>(
    `select upstream, count(*) as jobs, min(created_at) as oldest from ${SCHEMA}.objects
     where ${UNSETTLED} group by upstream order by upstream`,
  )
  return rows.map(({ upstream, jobs, oldest }) => ({ upstream, jobs: Number(jobs), oldestAt: oldest }))
}
