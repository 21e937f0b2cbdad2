import type { UnsettledJob } from '../../domain/documents/job-document.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { Estimate, ObjectKey } from './objects-table.ts'

/** One that was deleted has not reported what it used either. */
const UNSETTLED = 'job and settled_at is null'
const LISTED_JOBS = 1_000

/**
 * Corrects what the calls that made these objects are totalled under. `sorted` by upstream and id. An
 * object that another call had made before stays with that call's.
 */
export async function renameUnpriced(
  session: PostgresSession,
  sorted: readonly (ObjectKey & {
    readonly callId: string
    readonly model: string
    readonly axes: string | null
  })[],
): Promise<void> {
  await session.query(
    `update ${SCHEMA}.objects o set unpriced_as = k.model, axes = k.axes
     from unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[])
       as k (upstream, folded_id, call_id, model, axes)
     where o.upstream = k.upstream and o.folded_id = k.folded_id and o.call_id = k.call_id and o.unpriced_as is not null`,
    [
      sorted.map(({ upstream }) => upstream),
      sorted.map(({ foldedId }) => foldedId),
      sorted.map(({ callId }) => callId),
      sorted.map(({ model }) => model),
      sorted.map(({ axes }) => axes),
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

/** Keeps what jobs are taken to have used until they tell. The first estimate of a job stays. Each key once. */
export async function keepEstimates(
  session: PostgresSession,
  estimates: readonly (ObjectKey & { readonly callId: string; readonly estimate: Estimate })[],
): Promise<void> {
  await session.query(
    `update ${SCHEMA}.objects o set estimate = k.estimate
     from json_to_recordset($1) as k (upstream text, "foldedId" text, "callId" uuid, estimate jsonb)
     where o.upstream = k.upstream and o.folded_id = k."foldedId" and o.call_id = k."callId"
       and ${UNSETTLED} and o.estimate is null`,
    [JSON.stringify(estimates)],
  )
}

/** An id that is made twice names no one response any more: its estimates stand. */
export async function dropEstimates(session: PostgresSession, keys: readonly ObjectKey[]): Promise<void> {
  await session.query(
    `update ${SCHEMA}.objects o set estimate = null
     from unnest($1::text[], $2::text[]) as k (upstream, folded_id)
     where o.upstream = k.upstream and o.folded_id = k.folded_id and o.estimate is not null`,
    [keys.map(({ upstream }) => upstream), keys.map(({ foldedId }) => foldedId)],
  )
}

/** Kinds whose results can also be read as items of a conversation, or as the input of what follows. */
const READ_AS_ITEMS = ['response', 'interaction']

/**
 * Has jobs fetched at once of which the result may have been read: these, those that left these files, and all of a
 * client that reads items.
 *
 * @param readers The clients that read items, with the upstream.
 */
export async function hastenJobs(
  session: PostgresSession,
  sorted: readonly ObjectKey[],
  readers: readonly { readonly upstream: string; readonly clientId: string }[],
): Promise<void> {
  await session.query(
    `update ${SCHEMA}.objects o set fetch_after = now()
     from (select upstream, folded_id from ${SCHEMA}.objects o
       where ${UNSETTLED} and ((upstream, folded_id) in (select * from unnest($1::text[], $2::text[]))
         or (upstream, folded_id) in (select f.upstream, f.left_by from ${SCHEMA}.objects f
           where (f.upstream, f.folded_id) in (select * from unnest($1::text[], $2::text[])))
         or (kind = any($5) and (upstream, client_id) in (select * from unnest($3::text[], $4::text[]))))
       order by upstream, folded_id for update of o) found
     where o.upstream = found.upstream and o.folded_id = found.folded_id`,
    [
      sorted.map(({ upstream }) => upstream),
      sorted.map(({ foldedId }) => foldedId),
      readers.map(({ upstream }) => upstream),
      readers.map(({ clientId }) => clientId),
      READ_AS_ITEMS,
    ],
  )
}

/** A job, as far as it takes to ask its upstream for it. */
export interface KeptJob extends ObjectKey {
  readonly id: string
  readonly kind: string
  /** Path of the call that submitted it, an upstream's prefix taken off. */
  readonly path: string
  /** The model that its request named; absent or `null`: none that is known. */
  readonly model?: string | null
  /** When that call arrived. */
  readonly createdAtMs: number
  /** The client that submitted it, whose markups apply; `null`: no longer known. */
  readonly clientName: string | null
}

/** The columns of {@link KeptJob} in a row `o` of `objects`. */
export const JOB_COLUMNS = `o.upstream, o.folded_id, o.id, o.kind, o.path, o.model, o.created_at,
  (select c.name from ${SCHEMA}.clients c where c.id = o.client_id) as client`

export interface JobRow {
  readonly upstream: string
  readonly folded_id: string
  readonly id: string
  readonly kind: string
  readonly path: string
  readonly model: string | null
  readonly created_at: Date
  readonly client: string | null
}

export function jobFrom(row: JobRow): KeptJob {
  return {
    upstream: row.upstream,
    foldedId: row.folded_id,
    id: row.id,
    kind: row.kind,
    path: row.path,
    model: row.model,
    createdAtMs: row.created_at.getTime(),
    clientName: row.client,
  }
}

/**
 * The objects of these names, at any of these upstreams, the jobs that left files of these names, and those below
 * `path`, each with whether its use is not known.
 *
 * @param path In lower case; '': none.
 */
export async function selectJobs(
  pool: Postgres,
  upstreams: readonly string[],
  foldedIds: readonly string[],
  path: string,
): Promise<readonly (KeptJob & { readonly isUntold: boolean })[]> {
  const { rows } = await pool.query<JobRow & { is_untold: boolean }>(
    `select ${JOB_COLUMNS}, ${UNSETTLED} as is_untold from ${SCHEMA}.objects o
     where o.upstream = any($1) and o.folded_id = any($2)
     union all
     select ${JOB_COLUMNS}, true from ${SCHEMA}.objects o
     where ${UNSETTLED} and (o.upstream, o.folded_id) in
       (select f.upstream, f.left_by from ${SCHEMA}.objects f where f.upstream = any($1) and f.folded_id = any($2))
     union all
     select ${JOB_COLUMNS}, true from ${SCHEMA}.objects o
     where $3 <> '' and ${UNSETTLED} and o.upstream = any($1) and lower(o.path) = $3
     limit ${LISTED_JOBS}`,
    [upstreams, foldedIds, path],
  )
  return rows.map((row) => ({ ...jobFrom(row), isUntold: row.is_untold }))
}

/**
 * The client's batches that have not reported what they used, where none of these files is known: one may have left it.
 * The oldest `limit` of them, the oldest first.
 */
export async function selectBatchesThatMayHaveLeft(
  pool: Postgres,
  upstreams: readonly string[],
  clientId: string,
  foldedIds: readonly string[],
  limit: number,
): Promise<readonly KeptJob[]> {
  const { rows } = await pool.query<JobRow>(
    `select ${JOB_COLUMNS} from ${SCHEMA}.objects o
     where ${UNSETTLED} and o.kind = 'batch' and o.upstream = any($1) and o.client_id = $2
       and not exists (select from ${SCHEMA}.objects f where f.upstream = any($1) and f.folded_id = any($3))
     order by o.created_at limit $4`,
    [upstreams, clientId, foldedIds, limit],
  )
  return rows.map(jobFrom)
}

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
    deleted_at: Date | null
  }>(
    `select o.id, o.kind, o.upstream, o.client_id, coalesce(c.name, o.client_id) as client, o.key_id, o.model,
       o.created_at, o.deleted_at
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
    deletedAt: row.deleted_at,
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

/** How many jobs of a client (`null`: of any) that were made before then have not reported what they used. */
export async function countJobsBefore(
  pool: Postgres,
  clientId: string | null,
  before: Date,
): Promise<number> {
  const { rows } = await pool.query<{ jobs: string }>(
    `select count(*) as jobs from ${SCHEMA}.objects
     where ${UNSETTLED} and ($1::text is null or client_id = $1) and created_at < $2`,
    [clientId, before],
  )
  return Number(rows[0]?.jobs ?? '0')
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
