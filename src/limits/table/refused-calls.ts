import type { Period } from '../../domain/period.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { ALL_REFUSALS } from '../../usage/report/report-source.ts'
import type { RefusalCount } from '../engine/refusal-counts.ts'

/** What names a row of `refusals`, in the order in which rows are locked: each a column, and a field in code. */
const KEY = [
  ['day', 'day', 'date'],
  ['client_id', 'clientId', 'text'],
  ['key_id', 'keyId', 'text'],
  ['model', 'model', 'text'],
  ['limit_id', 'limitId', 'text'],
  ['reason', 'reason', 'text'],
] as const
const COLUMNS = KEY.map(([column]) => column).join(', ')

/**
 * Adds counts of refused calls, in one statement. Rows are locked in one order, so two gateways never wait for each
 * other in a circle.
 *
 * @param refused Each sort and day once.
 * @throws When Postgres is away: nothing was added.
 */
export async function addRefusedCalls(pool: Postgres, refused: readonly RefusalCount[]): Promise<void> {
  if (refused.length === 0) return
  await pool.query(
    `insert into ${SCHEMA}.refusals as r (${COLUMNS}, calls)
     select * from unnest(${KEY.map(([, , type], index) => `$${index + 1}::${type}[]`).join(', ')}, $${KEY.length + 1}::bigint[])
       u (${COLUMNS}, calls) order by ${COLUMNS}
     on conflict (${COLUMNS}) do update set calls = r.calls + excluded.calls`,
    [...KEY.map(([, field]) => refused.map((one) => one[field])), refused.map(({ calls }) => calls)],
  )
}

/** By what counts of refused calls can be kept apart. */
export const REFUSED_GROUPS = ['client', 'reason', 'day', 'key', 'model', 'limit'] as const

export type RefusedGroup = (typeof REFUSED_GROUPS)[number]

/** A sum of refused calls; `null` where it is not grouped by that, '' where that is not known. */
export type RefusedSum = Readonly<Record<Exclude<RefusedGroup, 'day'>, string | null>> & {
  readonly day: UtcDay | null
  readonly calls: bigint
}

const COLUMN_OF: Readonly<Record<RefusedGroup, (typeof KEY)[number][0]>> = {
  client: 'client_id',
  reason: 'reason',
  day: 'day',
  key: 'key_id',
  model: 'model',
  limit: 'limit_id',
}

/**
 * The refused calls of some UTC days, both included, most calls first. Empty groups: one row over everything.
 *
 * @param clientId `null`: of all clients.
 * @param most `null`: all sums.
 */
export async function selectRefusedCalls(
  pool: Postgres,
  { fromDay, toDay }: Period,
  groups: readonly RefusedGroup[],
  clientId: string | null = null,
  most: number | null = null,
): Promise<readonly RefusedSum[]> {
  const columns = groups.map((group) => COLUMN_OF[group])
  const shown = REFUSED_GROUPS.map((group) => {
    if (!groups.includes(group)) return `null as "${group}"`
    return `${group === 'client' ? 'coalesce(c.name, r.client_id)' : `r.${COLUMN_OF[group]}`} as "${group}"`
  })
  const order = ['r.calls desc', ...columns.map((column) => `r.${column}`)].join(', ')
  const grouping = columns.length === 0 ? '' : `group by ${columns.join(', ')}`
  // Names are read of the sums that are shown: there may be many more refused calls, and clients.
  const { rows } = await pool.query<Omit<RefusedSum, 'calls'> & { readonly calls: string }>(
    `select ${shown.join(', ')}, r.calls::text as calls from (
       select * from (
         select ${[...columns, 'coalesce(sum(calls), 0) as calls'].join(', ')} from ${ALL_REFUSALS} r
         where day between $1 and $2 and ($3::text is null or client_id = $3) ${grouping}) r
       order by ${order} limit $4) r
     ${groups.includes('client') ? `left join ${SCHEMA}.clients c on c.id = r.client_id` : ''}
     order by ${order}`,
    [fromDay, toDay, clientId, most],
  )
  return rows.map((row) => ({ ...row, calls: BigInt(row.calls) }))
}
