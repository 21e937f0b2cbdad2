import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** Calls of one client that limits refused on a UTC day, for one reason. */
export interface RefusedCalls {
  readonly day: UtcDay
  readonly clientId: string
  readonly reason: string
  readonly calls: number
}

/**
 * Adds counts of refused calls, in one statement. Rows are locked in one order, so two gateways never wait for each
 * other in a circle.
 *
 * @param refused Each day, client and reason once.
 * @throws When Postgres is away: nothing was added.
 */
export async function addRefusedCalls(pool: Postgres, refused: readonly RefusedCalls[]): Promise<void> {
  if (refused.length === 0) return
  await pool.query(
    `insert into ${SCHEMA}.refused_calls as r (day, client_id, reason, calls)
     select * from unnest($1::date[], $2::text[], $3::text[], $4::bigint[]) u (day, client_id, reason, calls)
     order by day, client_id, reason
     on conflict (day, client_id, reason) do update set calls = r.calls + excluded.calls`,
    [
      refused.map(({ day }) => day),
      refused.map(({ clientId }) => clientId),
      refused.map(({ reason }) => reason),
      refused.map(({ calls }) => calls),
    ],
  )
}

/** By what counts of refused calls can be kept apart. */
export const REFUSED_GROUPS = ['client', 'reason', 'day'] as const

export type RefusedGroup = (typeof REFUSED_GROUPS)[number]

/** A sum of refused calls; `null` where it is not grouped by that. */
export interface RefusedSum {
  readonly client: string | null
  readonly reason: string | null
  readonly day: UtcDay | null
  readonly calls: bigint
}

const EXPRESSIONS: Readonly<Record<RefusedGroup, string>> = {
  client: 'coalesce(c.name, r.client_id)',
  reason: 'r.reason',
  day: 'r.day',
}

/** The refused calls of some UTC days, both included, most calls first. Empty groups: one row over everything. */
export async function selectRefusedCalls(
  pool: Postgres,
  { fromDay, toDay }: { readonly fromDay: UtcDay; readonly toDay: UtcDay },
  groups: readonly RefusedGroup[],
): Promise<readonly RefusedSum[]> {
  const selected = REFUSED_GROUPS.map((group) =>
    groups.includes(group) ? `${EXPRESSIONS[group]} as ${group}` : `null as ${group}`,
  )
  const grouping = groups.map((group) => EXPRESSIONS[group]).join(', ')
  const { rows } = await pool.query<Omit<RefusedSum, 'calls'> & { readonly calls: string }>(
    `select ${selected.join(', ')}, coalesce(sum(r.calls), 0)::text as calls
     from ${SCHEMA}.refused_calls r left join ${SCHEMA}.clients c on c.id = r.client_id
     where r.day between $1 and $2 ${grouping === '' ? '' : `group by ${grouping}`}
     order by sum(r.calls) desc${grouping === '' ? '' : `, ${grouping}`}`,
    [fromDay, toDay],
  )
  return rows.map((row) => ({ ...row, calls: BigInt(row.calls) }))
}
