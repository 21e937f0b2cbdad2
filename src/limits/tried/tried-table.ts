import type { UtcDay } from '../../domain/utc-day.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { Limit } from '../limit.ts'
import type { LimitScope } from '../subject.ts'
import { type LimitOrder, setOneLimit } from '../table/change-limits.ts'
import { type LimitRow, limitFrom, takeLimitVersion } from '../table/limit-rows.ts'

/** A limit that is tried: nothing is refused. */
export interface TriedLimit {
  readonly limit: Limit
  /** The name of its client; `null`: a default. */
  readonly client: string | null
  /** The first UTC day whose calls it is tried on. */
  readonly fromDay: UtcDay
}

/** So many at a time: a worker holds each call against all that are about it. */
export const MOST_TRIED = 100

const COLUMNS = `t.id, t.client_id, null as group_id, null as axis, null as axis_value, t.key_id, t.former_keys,
  t.model, t.kind, t.amount, null as raised_to, null as raised_until, t.per, false as soft, t.since,
  t.counts_cached, t.allows_unpriced, t.when_alone, t.from_day`

type TriedRow = LimitRow & { readonly from_day: UtcDay; readonly client: string | null }

const SELECT = `select ${COLUMNS}, c.name as client from ${SCHEMA}.tried_limits t left join ${SCHEMA}.clients c on c.id = t.client_id`

/** All of them, in the order in which they were made. */
export async function selectTried(pool: Postgres): Promise<readonly TriedLimit[]> {
  const { rows } = await pool.query<TriedRow>(`${SELECT} order by t.id`)
  return rows.map(triedFrom)
}

function triedFrom(row: TriedRow): TriedLimit {
  return { limit: limitFrom(row), client: row.client, fromDay: row.from_day }
}

const SAME_SORT = `coalesce(t.client_id, '') = coalesce($1, '') and coalesce(t.key_id, '') = coalesce($2, '')
  and coalesce(t.model, '') = coalesce($3, '') and t.kind = $4 and coalesce(t.per, '') = coalesce($5, '')`

/**
 * Tries a limit from the day on, in the place of the one of its sort. What has the same terms already stays.
 *
 * @returns Its id; `null`: there are too many.
 */
export async function tryLimit(
  pool: Postgres,
  { clientId, keyId, model }: LimitScope,
  order: LimitOrder,
  today: UtcDay,
): Promise<string | null> {
  const { kind, per, amount, countsCached = true, allowsUnpriced = false, whenAlone = 'refuse' } = order
  const since = per === 'total' ? (order.since ?? today) : null
  const sort = [clientId, keyId, model, kind, per]
  const terms = [`${amount}`, since, countsCached, allowsUnpriced, whenAlone]
  return await inTransaction(pool, async (session) => {
    await session.query(
      `delete from ${SCHEMA}.tried_limits t where ${SAME_SORT} and
         (t.amount, coalesce(t.since, '-infinity'), t.counts_cached, t.allows_unpriced, t.when_alone)
         <> ($6::numeric, coalesce($7::date, '-infinity'), $8::boolean, $9::boolean, $10::text)`,
      [...sort, ...terms],
    )
    await session.query(
      `insert into ${SCHEMA}.tried_limits
         (client_id, key_id, model, kind, per, amount, since, counts_cached, allows_unpriced, when_alone, from_day)
       select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
       where (select count(*) from ${SCHEMA}.tried_limits) < ${MOST_TRIED} on conflict do nothing`,
      [...sort, ...terms, today],
    )
    const { rows } = await session.query<{ id: string }>(
      `select t.id from ${SCHEMA}.tried_limits t where ${SAME_SORT}`,
      sort,
    )
    return rows[0]?.id ?? null
  })
}

/** @returns Whether there was such a one. */
export async function dropTried(pool: Postgres, id: string): Promise<boolean> {
  const { rowCount } = await pool.query(`delete from ${SCHEMA}.tried_limits where id = $1`, [id])
  return rowCount === 1
}

/**
 * Sets the limit, in the place of the one of its sort, and drops what was tried.
 *
 * @returns The limit as it holds; `null`: none with this id is tried.
 */
export async function enforceTried(pool: Postgres, id: string, who: string): Promise<Limit | null> {
  return await inTransaction(pool, async (session) => {
    // First, as a rotation of a key takes it before what is tried of that key.
    const version = await takeLimitVersion(session)
    const { rows } = await session.query<TriedRow>(`${SELECT} where t.id = $1 for update of t`, [id])
    const tried = rows.map(triedFrom)[0]
    if (tried === undefined) return null
    await session.query(`delete from ${SCHEMA}.tried_limits where id = $1`, [id])
    const { limit } = tried
    return await setOneLimit(session, limit, { ...limit, since: limit.since ?? undefined }, who, version)
  })
}

/** Goes on with the key that takes the place of another, as limits do. */
export async function moveTried(session: PostgresSession, oldKey: string, newKey: string): Promise<void> {
  const { rows } = await session.query<{ id: string }>(
    `select id from ${SCHEMA}.tried_limits where key_id = $1 or $1 = any(former_keys)`,
    [oldKey],
  )
  // A role that may not write the table rotates keys without trials as before.
  if (rows.length === 0) return
  await session.query(
    `update ${SCHEMA}.tried_limits set key_id = $2, former_keys = former_keys || key_id where id = any($1)`,
    [rows.map(({ id }) => id), newKey],
  )
}
