import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { Limit } from '../limit.ts'
import { type RecordedTerms, renderTerms } from '../limit-document.ts'

export const LIMIT_ACTIONS = ['set', 'remove', 'raise', 'top_up', 'rotate'] as const

export type LimitAction = (typeof LIMIT_ACTIONS)[number]

/** What was done to a limit, for the audit. */
export interface LimitChange {
  /** Who did it: a user of the command line, or the operator's token. */
  readonly who: string
  readonly action: LimitAction
  readonly before: Limit | null
  readonly after: Limit | null
  readonly reference?: string | null
}

/** Writes changes down, in the transaction that makes them. */
export async function addLimitChanges(
  session: PostgresSession,
  changes: readonly LimitChange[],
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.limit_changes (who, action, limit_id, before, after, reference)
     select who, action, limit_id, before, after, reference
     from unnest($1::text[], $2::text[], $3::bigint[], $4::jsonb[], $5::jsonb[], $6::text[]) with ordinality
       c (who, action, limit_id, before, after, reference, place)
     order by place`,
    [
      changes.map(({ who }) => who),
      changes.map(({ action }) => action),
      changes.map(({ before, after }) => (after ?? before)?.id),
      changes.map(({ before }) => termsOf(before)),
      changes.map(({ after }) => termsOf(after)),
      changes.map(({ reference = null }) => reference),
    ],
  )
}

function termsOf(limit: Limit | null): string | null {
  return limit === null ? null : JSON.stringify(renderTerms(limit))
}

/** A change as it was written down. */
export interface RecordedChange {
  readonly id: string
  readonly at: Date
  readonly who: string
  readonly action: LimitAction
  readonly limitId: string
  /** The client's name; `null`: a default. */
  readonly client: string | null
  readonly before: RecordedTerms | null
  readonly after: RecordedTerms | null
  readonly reference: string | null
}

/** Which changes are asked for. */
export interface ChangeScope {
  /** `null`: of all clients, and of the defaults. */
  readonly clientId: string | null
  /** Only those before this one; `null`: the newest. */
  readonly before: string | null
  readonly rows: number
}

/** Who changed what, when, and from what to what; the newest first. */
export async function selectLimitChanges(
  pool: Postgres,
  { clientId, before, rows: wanted }: ChangeScope,
): Promise<readonly RecordedChange[]> {
  const { rows } = await pool.query<RecordedChange>(
    `select h.id, h.at, h.who, h.action, h.limit_id as "limitId", c.name as client, h.before, h.after, h.reference
     from ${SCHEMA}.limit_changes h join ${SCHEMA}.limits l on l.id = h.limit_id
     left join ${SCHEMA}.clients c on c.id = l.client_id
     where ($1::text is null or l.client_id = $1) and ($2::bigint is null or h.id < $2)
     order by h.id desc limit $3`,
    [clientId, before, wanted],
  )
  return rows
}

/** A change as JSON, the same on the command line and over HTTP. */
export function renderLimitChange(change: RecordedChange) {
  const { id, at, who, action, limitId, client, before, after, reference } = change
  return { id, at: at.toISOString(), who, action, limit: limitId, client, before, after, reference }
}
