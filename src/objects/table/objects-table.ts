import type { CallUse } from '../../call/call-record.ts'
import type { ObjectKind } from '../../call/object-event.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type Submitter, submitterOf } from '../../usage/daily-key.ts'
import { SUBMITTER_DIMENSIONS } from '../../usage/dimensions.ts'

/** The fields that an object keeps of the call that made it, for the totals of its job. */
const SUBMITTER_COLUMNS = SUBMITTER_DIMENSIONS.map(({ column }) => column).join(', ')
const SUBMITTER_FIELDS = SUBMITTER_DIMENSIONS.map(({ field }) => `"${field}"`)

/** An object that a call has made. */
export interface NewObject extends Submitter {
  readonly upstream: string
  readonly foldedId: string
  readonly id: string
  readonly kind: ObjectKind
  readonly callId: string
  /** Path of the call that made it, in its canonical form. */
  readonly path: string
  readonly model: string | null
  /** The name of `routes` that led its call there; `null`: none did. */
  readonly route: string | null
  /** As its call is totalled; `null`: it has no values. */
  readonly axes: string | null
  readonly createdAtMs: number
  readonly job: boolean
  /** The model that its call is totalled under as unpriced, until the job tells what it used; `null`: it is not. */
  readonly unpricedAs: string | null
  /** The id of the job that left it; of a file. */
  readonly leftBy: string | null
  /** The part of budgets that a job's call reserved, integer pico-USD in decimal. */
  readonly reservedPico: string | null
}

/** The use that a job was taken to have, as it stands in the totals: its final figures take its place. */
export type Estimate = Pick<
  CallUse,
  'model' | 'reportedModel' | 'usageSource' | 'usage' | 'units' | 'costPico' | 'priceId'
>

/** The name of an object at an upstream. */
export interface ObjectKey {
  readonly upstream: string
  readonly foldedId: string
}

export interface ObjectOwnerRow extends ObjectKey {
  readonly clientId: string
  readonly keyId: string
  readonly model: string | null
}

/** An object and the call that made it. */
export interface ObjectMaking extends ObjectKey, Submitter {
  readonly callId: string
  readonly job: boolean
  readonly model: string | null
  /** As in {@link NewObject}. */
  readonly route: string | null
  readonly axes: string | null
  readonly createdAtMs: number
  /** As in {@link NewObject}; `null` too once its job has reported its use. */
  readonly unpricedAs: string | null
  /** `null`: none is in the totals. */
  readonly estimate: Estimate | null
}

/**
 * Adds objects; one that is known stays with who made it first. `sorted` by upstream and id, each once.
 *
 * @returns Those that were not known.
 */
export async function addObjects(
  session: PostgresSession,
  sorted: readonly NewObject[],
): Promise<readonly ObjectKey[]> {
  const { rows } = await session.query<{ upstream: string; folded_id: string }>(
    `insert into ${SCHEMA}.objects (upstream, folded_id, id, kind, ${SUBMITTER_COLUMNS}, call_id, path, model, route, axes, created_at, job,
       unpriced_as, left_by, reserved_pico)
     select upstream, "foldedId", id, kind, ${SUBMITTER_FIELDS.join(', ')}, "callId", path, model, route, axes,
       to_timestamp("createdAtMs" / 1000.0), job, "unpricedAs", "leftBy", "reservedPico"
     from json_to_recordset($1) as o (upstream text, "foldedId" text, id text, kind text,
       ${SUBMITTER_FIELDS.map((field) => `${field} text`).join(', ')}, "callId" uuid, path text, model text, route text, axes text, "createdAtMs" bigint, job boolean,
       "unpricedAs" text, "leftBy" text, "reservedPico" numeric)
     on conflict do nothing
     returning upstream, folded_id`,
    [JSON.stringify(sorted)],
  )
  return rows.map((row) => ({ upstream: row.upstream, foldedId: row.folded_id }))
}

/**
 * Records that jobs have ended, that there is nothing more to wait for, that what they used was lost with them or their
 * files, or that objects are gone. `sorted` by upstream and id, each once.
 */
export async function setObjectsState(
  session: PostgresSession,
  event: 'ended' | 'settled' | 'lost' | 'deleted',
  sorted: readonly ObjectKey[],
): Promise<void> {
  const column = `${event}_at`
  const which = event === 'deleted' ? '' : 'o.job and '
  await session.query(
    `update ${SCHEMA}.objects o set ${column} = now()
     from (select upstream, folded_id from ${SCHEMA}.objects o
       join unnest($1::text[], $2::text[]) as k (upstream, folded_id) using (upstream, folded_id)
       where ${which}o.${column} is null order by upstream, folded_id for update of o) found
     where o.upstream = found.upstream and o.folded_id = found.folded_id`,
    [sorted.map(({ upstream }) => upstream), sorted.map(({ foldedId }) => foldedId)],
  )
}

/**
 * Records that it is known what jobs used, once for each. `sorted` by upstream and id, each once.
 *
 * @returns Those whose calls were unpriced for lack of it, and are so no longer.
 */
export async function settleObjects(
  session: PostgresSession,
  sorted: readonly ObjectKey[],
): Promise<readonly (ObjectMaking & { readonly unpricedAs: string })[]> {
  const { rows } = await session.query<MakingRow>(
    `update ${SCHEMA}.objects o set settled_at = coalesce(o.settled_at, now()), unpriced_as = null, estimate = null
     from (select ${MAKING} from ${SCHEMA}.objects o
       join unnest($1::text[], $2::text[]) as k (upstream, folded_id) using (upstream, folded_id)
       where o.job and (o.settled_at is null or o.unpriced_as is not null)
       order by upstream, folded_id for update of o) found
     where o.upstream = found.upstream and o.folded_id = found.folded_id
     returning found.*`,
    [sorted.map(({ upstream }) => upstream), sorted.map(({ foldedId }) => foldedId)],
  )
  return rows.flatMap((row) => {
    const making = makingFrom(row)
    return making.unpricedAs === null ? [] : [{ ...making, unpricedAs: making.unpricedAs }]
  })
}

/** Those of these objects that a call of ours made. */
export async function selectMakings(
  session: PostgresSession,
  keys: readonly ObjectKey[],
): Promise<readonly ObjectMaking[]> {
  const { rows } = await session.query<MakingRow>(
    `select ${MAKING}
     from unnest($1::text[], $2::text[]) as k (upstream, folded_id)
     join ${SCHEMA}.objects o using (upstream, folded_id)`,
    [keys.map(({ upstream }) => upstream), keys.map(({ foldedId }) => foldedId)],
  )
  return rows.map(makingFrom)
}

/** The owners of objects with these ids at any of these upstreams. */
export async function selectOwners(
  pool: Postgres,
  upstreams: readonly string[],
  foldedIds: readonly string[],
): Promise<readonly ObjectOwnerRow[]> {
  const { rows } = await pool.query<OwnerRow>(
    `select upstream, folded_id, client_id, key_id, model from ${SCHEMA}.objects
     where upstream = any($1) and folded_id = any($2)`,
    [upstreams, foldedIds],
  )
  return rows.map(ownerFrom)
}

const MAKING = `o.upstream, o.folded_id, ${SUBMITTER_DIMENSIONS.map(({ column, field }) => `o.${column} as "${field}"`).join(', ')},
  o.call_id, o.job, o.model, o.route, o.axes, o.unpriced_as, o.estimate,
  (extract(epoch from o.created_at) * 1000)::bigint as created_at_ms`

interface MakingRow extends Submitter {
  upstream: string
  folded_id: string
  call_id: string
  job: boolean
  model: string | null
  route: string | null
  axes: string | null
  unpriced_as: string | null
  estimate: Estimate | null
  created_at_ms: string
}

function makingFrom(row: MakingRow): ObjectMaking {
  return {
    ...submitterOf(row),
    upstream: row.upstream,
    foldedId: row.folded_id,
    callId: row.call_id,
    job: row.job,
    model: row.model,
    route: row.route,
    axes: row.axes,
    createdAtMs: Number(row.created_at_ms),
    unpricedAs: row.unpriced_as,
    estimate: row.estimate,
  }
}

interface OwnerRow {
  upstream: string
  folded_id: string
  client_id: string
  key_id: string
  model: string | null
}

function ownerFrom({ upstream, folded_id, client_id, key_id, model }: OwnerRow): ObjectOwnerRow {
  return { upstream, foldedId: folded_id, clientId: client_id, keyId: key_id, model }
}

/** Rows in one statement, so that none runs for long. */
const DELETE_AT_A_TIME = 10_000

/**
 * Deletes responses, interactions and kept completions made more than `shortDays` ago, and what was deleted
 * that long ago. All else is kept until it is deleted, and jobs that budgets are charged for until they tell their use.
 *
 * @returns How many.
 */
export async function pruneObjects(session: PostgresSession, shortDays: number): Promise<number> {
  let pruned = 0
  for (;;) {
    const { rowCount } = await session.query(
      `delete from ${SCHEMA}.objects where ctid = any(array(
         select ctid from ${SCHEMA}.objects
         where ((kind in ('response', 'interaction', 'completion') and created_at < now() - make_interval(days => $1))
           or deleted_at < now() - make_interval(days => $1))
           and not (job and reserved_pico is not null and (settled_at is null or unpriced_as is not null))
         limit $2))`,
      [shortDays, DELETE_AT_A_TIME],
    )
    pruned += rowCount ?? 0
    if ((rowCount ?? 0) < DELETE_AT_A_TIME) return pruned
  }
}
