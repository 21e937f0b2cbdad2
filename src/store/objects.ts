import type { UnsettledJob } from '../domain/job-document.ts'
import type { ObjectKind } from '../domain/object-event.ts'
import { SCHEMA } from './migrate.ts'
import type { Postgres, PostgresSession } from './postgres.ts'

/** An object that a call has made. */
export interface NewObject {
  readonly upstream: string
  readonly foldedId: string
  readonly id: string
  readonly kind: ObjectKind
  readonly clientId: string
  readonly keyId: string
  readonly callId: string
  /** Of the call that made it. */
  readonly path: string
  readonly model: string | null
  readonly createdAtMs: number
  readonly job: boolean
}

/** What names an object at an upstream. */
export interface ObjectKey {
  readonly upstream: string
  readonly foldedId: string
}

export interface ObjectOwnerRow extends ObjectKey {
  readonly clientId: string
  readonly keyId: string
}

/** Adds objects; one that is known stays with who made it first. `sorted` by upstream and id, each once. */
export async function addObjects(session: PostgresSession, sorted: readonly NewObject[]): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.objects (upstream, folded_id, id, kind, client_id, key_id, call_id, path, model, created_at, job)
     select upstream, "foldedId", id, kind, "clientId", "keyId", "callId", path, model,
       to_timestamp("createdAtMs" / 1000.0), job
     from json_to_recordset($1) as o (upstream text, "foldedId" text, id text, kind text, "clientId" text,
       "keyId" text, "callId" uuid, path text, model text, "createdAtMs" bigint, job boolean)
     on conflict do nothing`,
    [JSON.stringify(sorted)],
  )
}

/** Notes that jobs have told what they used, or that objects are gone. `sorted` by upstream and id, each once. */
export async function markObjects(
  session: PostgresSession,
  mark: 'settled' | 'deleted',
  sorted: readonly ObjectKey[],
): Promise<void> {
  const column = mark === 'settled' ? 'settled_at' : 'deleted_at'
  const which = mark === 'settled' ? 'o.job and ' : ''
  await session.query(
    `update ${SCHEMA}.objects o set ${column} = now()
     from (select upstream, folded_id from ${SCHEMA}.objects o
       join unnest($1::text[], $2::text[]) as k (upstream, folded_id) using (upstream, folded_id)
       where ${which}o.${column} is null order by upstream, folded_id for update of o) found
     where o.upstream = found.upstream and o.folded_id = found.folded_id`,
    [sorted.map(({ upstream }) => upstream), sorted.map(({ foldedId }) => foldedId)],
  )
}

/** The owners of those objects that have one. */
export async function selectOwnersOf(
  session: PostgresSession,
  keys: readonly ObjectKey[],
): Promise<readonly ObjectOwnerRow[]> {
  const { rows } = await session.query<OwnerRow>(
    `select o.upstream, o.folded_id, o.client_id, o.key_id
     from unnest($1::text[], $2::text[]) as k (upstream, folded_id)
     join ${SCHEMA}.objects o using (upstream, folded_id)`,
    [keys.map(({ upstream }) => upstream), keys.map(({ foldedId }) => foldedId)],
  )
  return rows.map(ownerFrom)
}

/** The owners of objects with these ids at any of these upstreams. */
export async function selectOwners(
  pool: Postgres,
  upstreams: readonly string[],
  foldedIds: readonly string[],
): Promise<readonly ObjectOwnerRow[]> {
  const { rows } = await pool.query<OwnerRow>(
    `select upstream, folded_id, client_id, key_id from ${SCHEMA}.objects
     where upstream = any($1) and folded_id = any($2)`,
    [upstreams, foldedIds],
  )
  return rows.map(ownerFrom)
}

interface OwnerRow {
  upstream: string
  folded_id: string
  client_id: string
  key_id: string
}

function ownerFrom(row: OwnerRow): ObjectOwnerRow {
  return { upstream: row.upstream, foldedId: row.folded_id, clientId: row.client_id, keyId: row.key_id }
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

/** How many jobs have not told what they used, and the oldest of them. */
export async function countUnsettledJobs(
  pool: Postgres,
): Promise<{ readonly jobs: number; readonly oldest: UnsettledJob | null }> {
  const { rows } = await pool.query<{ jobs: string }>(
    `select count(*) as jobs from ${SCHEMA}.objects where ${UNSETTLED}`,
  )
  const jobs = Number(rows[0]?.jobs ?? '0')
  return { jobs, oldest: jobs === 0 ? null : ((await selectUnsettledJobs(pool))[0] ?? null) }
}

/** Rows in one statement, so that none runs for long. */
const DELETE_AT_A_TIME = 10_000

/**
 * Forgets responses, interactions and kept completions made more than `shortDays` ago, and what was deleted that
 * long ago. All else is kept until it is deleted.
 *
 * @returns How many.
 */
export async function forgetObjects(session: PostgresSession, shortDays: number): Promise<number> {
  let forgotten = 0
  for (;;) {
    const { rowCount } = await session.query(
      `delete from ${SCHEMA}.objects where ctid = any(array(
         select ctid from ${SCHEMA}.objects
         where (kind in ('response', 'interaction', 'completion') and created_at < now() - make_interval(days => $1))
           or deleted_at < now() - make_interval(days => $1)
         limit $2))`,
      [shortDays, DELETE_AT_A_TIME],
    )
    forgotten += rowCount ?? 0
    if ((rowCount ?? 0) < DELETE_AT_A_TIME) return forgotten
  }
}
