import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** Who asks for an operation. */
export interface Actor {
  /** The name of a token, or of a user of the command line. */
  readonly name: string
  /** The address of the request, or the machine of the command line. */
  readonly from: string
  /** Both in one text, or the name alone, as tables of chapters have it. */
  readonly who: string
}

type Session = Pick<PostgresSession, 'query'>

/** Writes down that a change begins. @returns The number of its row. */
export async function beginAudit(
  session: Session | Postgres,
  { name, from }: Actor,
  operation: string,
): Promise<string> {
  const { rows } = await (session as Session).query<{ id: string }>(
    `insert into ${SCHEMA}.audit (who, origin, operation) values ($1, $2, $3) returning id`,
    [name, from, operation],
  )
  return rows[0]?.id ?? ''
}

/** Has the rows that this transaction changes from now on recorded as those of the change. */
export async function recordChanges(session: Session, auditId: string): Promise<void> {
  await session.query(
    `select set_config('tallygate.audit', $1, true), set_config('tallygate.audit_rows', '', true)`,
    [auditId],
  )
}

/** @param about Ids, never names or secrets. */
export async function endAudit(
  session: Session | Postgres,
  auditId: string,
  about: Readonly<Record<string, unknown>>,
): Promise<void> {
  await (session as Session).query(`update ${SCHEMA}.audit set about = $2 where id = $1`, [
    auditId,
    JSON.stringify(about),
  ])
}

/** Takes back what `beginAudit` wrote: nothing was changed. */
export async function dropAudit(pool: Postgres, auditId: string): Promise<void> {
  await pool.query(`delete from ${SCHEMA}.audit where id = $1`, [auditId])
}

/** A row that a change made, changed or removed. Fields are those that differ. */
export interface ChangedRow {
  /** The table. */
  readonly what: string
  readonly id: string
  /** `null`: it was made. */
  readonly before: Readonly<Record<string, unknown>> | null
  /** `null`: it was deleted. */
  readonly after: Readonly<Record<string, unknown>> | null
}

export interface AuditRow {
  readonly id: string
  readonly at: Date
  readonly who: string
  readonly origin: string
  readonly operation: string
  /** `null`: it has not ended, or its process was killed. */
  readonly about: Readonly<Record<string, unknown>> | null
  readonly changes: readonly ChangedRow[]
}

/** Which changes are asked for; `null`: all. */
export interface AuditScope {
  readonly who: string | null
  readonly operation: string | null
  /** Of one client, key, limit, ... */
  readonly rowId: string | null
  /** UTC days, both included. */
  readonly fromDay: string | null
  readonly toDay: string | null
  /** Only those before this one. */
  readonly before: string | null
  readonly rows: number
}

/** Rows that are shown of one change. */
const MOST_SHOWN = 100

/** The newest first. */
export async function selectAudit(pool: Postgres, scope: AuditScope): Promise<readonly AuditRow[]> {
  const { who, operation, rowId, fromDay, toDay, before, rows: wanted } = scope
  const { rows } = await pool.query<AuditRow>(
    `select a.id, a.at, a.who, a.origin, a.operation, a.about, coalesce(c.changes, '[]') as changes
     from ${SCHEMA}.audit a left join lateral (
       select jsonb_agg(jsonb_build_object('what', what, 'id', row_id, 'before', before, 'after', after)
         order by place) as changes
       from ${SCHEMA}.audit_changes where audit_id = a.id and place <= ${MOST_SHOWN}) c on true
     where ($1::text is null or a.who = $1) and ($2::text is null or a.operation = $2)
       and ($3::text is null or a.id in (select audit_id from ${SCHEMA}.audit_changes where row_id = $3))
       and ($4::date is null or a.at >= $4::date::timestamp at time zone 'UTC')
       and ($5::date is null or a.at < ($5::date + 1)::timestamp at time zone 'UTC')
       and ($6::bigint is null or a.id < $6)
     order by a.id desc limit $7`,
    [who, operation, rowId, fromDay, toDay, before, wanted],
  )
  return rows
}
