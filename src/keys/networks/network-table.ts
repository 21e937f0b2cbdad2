import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { NETWORKS_PER_KEY, type NetworkCount, OTHER_NETWORKS } from './key-networks.ts'

/** As long as reports compare days. */
const KEPT_DAYS = 90

/**
 * Adds counts, in one statement, in an order that is the same everywhere. A key has so many networks of a day, also by
 * several gateways, but for those that come in the same moment.
 *
 * @throws When Postgres is away: nothing was added.
 */
export async function addNetworks(pool: Postgres, counts: readonly NetworkCount[]): Promise<void> {
  if (counts.length === 0) return
  await pool.query(
    `insert into ${SCHEMA}.key_networks as n (day, key_id, network, calls, known)
     select day, key_id, network, sum(calls), exists (select from ${SCHEMA}.key_networks b
       where b.key_id = u.key_id and b.network = u.network and b.day < u.day) from (
       select u.day, u.key_id, u.calls, case
         when exists (select from ${SCHEMA}.key_networks k
           where k.day = u.day and k.key_id = u.key_id and k.network = u.network)
         or (select count(*) from ${SCHEMA}.key_networks k where k.day = u.day and k.key_id = u.key_id)
           + row_number() over (partition by u.day, u.key_id) <= ${NETWORKS_PER_KEY}
         then u.network else '${OTHER_NETWORKS}' end as network
       from unnest($1::date[], $2::text[], $3::text[], $4::bigint[]) u (day, key_id, network, calls)) u
     group by 1, 2, 3 order by 1, 2, 3
     on conflict (day, key_id, network) do update set calls = n.calls + excluded.calls`,
    [
      counts.map(({ day }) => day),
      counts.map(({ keyId }) => keyId),
      counts.map(({ network }) => network),
      counts.map(({ calls }) => calls),
    ],
  )
}

/** A network that a key came from in some days. */
export interface KeyNetwork {
  readonly client: string
  readonly keyId: string
  readonly keyName: string
  readonly network: string
  readonly firstDay: UtcDay
  readonly lastDay: UtcDay
  readonly calls: bigint
  /** It came from others in the days before, and from this one in none of those that were kept when it came. */
  readonly isNew: boolean
}

export interface NetworkScope {
  readonly fromDay: UtcDay
  readonly toDay: UtcDay
  readonly client: string | null
  readonly keyId: string | null
  readonly onlyNew: boolean
  readonly limit: number
}

/** What is not known to be old may be all the same: an older day may have been added later. */
const MAY_BE_NEW = 'n.known is not true'
/** In SQL, of few pairs of a key and a network. With a limit each reads one row, and never becomes a join with all. */
const BEFORE = `select b.day from ${SCHEMA}.key_networks b where b.day < $1 and b.key_id = n.key_id`
const IS_NEW = `(${BEFORE} and b.network = n.network limit 1) is null and (${BEFORE} limit 1) is not null`

const OF_CLIENT = `n.key_id in (
  select k.id from ${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id where c.name = $3)`

/** New networks first, then those with most calls. */
export async function selectNetworks(
  pool: Postgres,
  { fromDay, toDay, client, keyId, onlyNew, limit }: NetworkScope,
): Promise<readonly KeyNetwork[]> {
  const asked = `n.day between $1 and $2 and ($4::text is null or n.key_id = $4)
    and ${client === null ? '$3::text is null' : OF_CLIENT}`
  const newPairs = `
    select n.key_id, n.network from (
      select distinct n.key_id, n.network from ${SCHEMA}.key_networks n where ${asked} and ${MAY_BE_NEW}) n
    where ${IS_NEW}`
  const { rows } = await pool.query<{
    client: string
    key_id: string
    key_name: string
    network: string
    first_day: UtcDay
    last_day: UtcDay
    calls: string
    is_new: boolean
  }>(
    `select c.name as client, n.key_id, k.name as key_name, n.network, n.first_day, n.last_day,
       n.calls::text as calls, n.is_new
     from (
       select n.key_id, n.network, min(n.day) as first_day, max(n.day) as last_day, sum(n.calls) as calls,
         ${onlyNew ? 'true' : `bool_or(${MAY_BE_NEW}) and ${IS_NEW}`} as is_new
       from ${SCHEMA}.key_networks n ${onlyNew ? `join (${newPairs}) fresh using (key_id, network)` : ''}
       where ${asked}
       group by n.key_id, n.network
       order by is_new desc, calls desc, n.key_id, n.network limit $5) n
     join ${SCHEMA}.keys k on k.id = n.key_id join ${SCHEMA}.clients c on c.id = k.client_id
     order by n.is_new desc, n.calls desc, n.key_id, n.network`,
    [fromDay, toDay, client, keyId, limit],
  )
  return rows.map((row) => ({
    client: row.client,
    keyId: row.key_id,
    keyName: row.key_name,
    network: row.network,
    firstDay: row.first_day,
    lastDay: row.last_day,
    calls: BigInt(row.calls),
    isNew: row.is_new,
  }))
}

/** Deletes what is older than is kept. */
export async function pruneNetworks(session: PostgresSession, today: UtcDay): Promise<void> {
  await session.query(`delete from ${SCHEMA}.key_networks where day < $1`, [addDays(today, -KEPT_DAYS)])
}
