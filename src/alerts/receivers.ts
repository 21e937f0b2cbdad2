import { randomBase62 } from '../domain/base62.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import type { AlertFormat, AlertKind } from './alert-kinds.ts'
import type { ReceiverOrder } from './receiver-order.ts'

/** Who gets alerts, without the secret. */
export interface AlertReceiver {
  readonly id: string
  readonly url: string
  readonly kinds: readonly AlertKind[]
  readonly format: AlertFormat
  /** Percent of a budget, ascending. */
  readonly thresholds: readonly number[]
  /** The name of the only client that it is about; `null`: all. */
  readonly client: string | null
  readonly createdAt: Date
  /** The newest of its deliveries that was tried; `null`: none was. */
  readonly lastDelivery: LastDelivery | null
}

export interface LastDelivery {
  readonly id: string
  readonly state: 'waiting' | 'delivered' | 'given_up'
  readonly attempts: number
  readonly triedAt: Date
  /** What the receiver answered; `null`: nothing. */
  readonly status: number | null
  /** `null`: it was delivered, or the first attempt is under way. */
  readonly error: string | null
  readonly deliveredAt: Date | null
}

/** A receiver just made: the only time that its secret is shown. */
export interface NewReceiver extends AlertReceiver {
  readonly secret: string
}

const SECRET_DIGITS = 43

interface ReceiverRow {
  readonly id: string
  readonly url: string
  readonly kinds: AlertKind[]
  readonly format: AlertFormat
  readonly thresholds: number[]
  readonly client: string | null
  readonly created_at: Date
  readonly delivery: string | null
  readonly state: LastDelivery['state']
  readonly attempts: number
  readonly tried_at: Date
  readonly status: number | null
  readonly error: string | null
  readonly delivered_at: Date | null
}

const SELECT = `
  select r.id, r.url, r.kinds, r.format, r.thresholds, c.name as client, r.created_at, d.id as delivery, d.state,
    d.attempts, d.tried_at, d.status, d.error, d.delivered_at
  from ${SCHEMA}.alert_receivers r left join ${SCHEMA}.clients c on c.id = r.client_id
  left join lateral (
    select * from ${SCHEMA}.alert_deliveries where receiver_id = r.id and tried_at is not null
    order by tried_at desc limit 1) d on true`

/** Those that get alerts, oldest first. */
export async function selectReceivers(pool: Postgres): Promise<readonly AlertReceiver[]> {
  const { rows } = await pool.query<ReceiverRow>(
    `${SELECT} where r.removed_at is null order by r.created_at, r.id`,
  )
  return rows.map(receiverFrom)
}

/**
 * Adds a receiver. It gets first what holds now: thresholds that were reached earlier in a running period too.
 *
 * @param who For the audit.
 * @returns `null`: there is no such client.
 */
export async function addReceiver(
  pool: Postgres,
  order: ReceiverOrder,
  who: string,
): Promise<NewReceiver | null> {
  const id = `rcv_${randomBase62(20)}`
  const secret = order.secret ?? randomBase62(SECRET_DIGITS)
  return await inTransaction(pool, async (session) => {
    const { rowCount } = await session.query(
      `insert into ${SCHEMA}.alert_receivers (id, url, format, secret, kinds, thresholds, client_id)
       select $1, $2, $3, $4, $5::text[], $6::int[], c.id
       from (select) one left join ${SCHEMA}.clients c on c.name = $7 where $7::text is null or c.id is not null`,
      [id, order.url, order.format, secret, order.kinds, order.thresholds, order.client],
    )
    if (rowCount === 0) return null
    await addChange(session, id, 'add', who)
    const { rows } = await session.query<ReceiverRow>(`${SELECT} where r.id = $1`, [id])
    const [row] = rows
    return row === undefined ? null : { ...receiverFrom(row), secret }
  })
}

/** Removes a receiver: what was not delivered yet is not delivered any more. `null`: there is none. */
export async function removeReceiver(pool: Postgres, id: string, who: string): Promise<AlertReceiver | null> {
  return await inTransaction(pool, async (session) => {
    const { rowCount } = await session.query(
      `update ${SCHEMA}.alert_receivers set removed_at = now() where id = $1 and removed_at is null`,
      [id],
    )
    if (rowCount === 0) return null
    await session.query(
      `update ${SCHEMA}.alert_deliveries set state = 'given_up', error = 'its receiver was removed'
       where receiver_id = $1 and state = 'waiting'`,
      [id],
    )
    await addChange(session, id, 'remove', who)
    const { rows } = await session.query<ReceiverRow>(`${SELECT} where r.id = $1`, [id])
    return rows[0] === undefined ? null : receiverFrom(rows[0])
  })
}

/** What an alert is sent with. */
export interface ReceiverAddress {
  readonly url: string
  readonly format: AlertFormat
  readonly secret: string
}

/** `null`: there is none, or it was removed. */
export async function findAddress(pool: Postgres, id: string): Promise<ReceiverAddress | null> {
  const { rows } = await pool.query<{ url: string; format: AlertFormat; secret: string }>(
    `select url, format, secret from ${SCHEMA}.alert_receivers where id = $1 and removed_at is null`,
    [id],
  )
  return rows[0] ?? null
}

async function addChange(session: PostgresSession, id: string, change: 'add' | 'remove', who: string) {
  await session.query(
    `insert into ${SCHEMA}.alert_receiver_changes (who, receiver_id, change) values ($1, $2, $3)`,
    [who, id, change],
  )
}

function receiverFrom(row: ReceiverRow): AlertReceiver {
  const { id, url, kinds, format, thresholds, client } = row
  return {
    id,
    url,
    kinds,
    format,
    thresholds,
    client,
    createdAt: row.created_at,
    lastDelivery:
      row.delivery === null
        ? null
        : {
            id: row.delivery,
            state: row.state,
            attempts: row.attempts,
            triedAt: row.tried_at,
            status: row.status,
            error: row.error,
            deliveredAt: row.delivered_at,
          },
  }
}

/** A receiver that has failed for over an hour. */
export interface FailingReceiver {
  readonly id: string
  /** When the oldest alert was made that it has not taken. */
  readonly since: Date
  /** Of the last attempt; `null`: there was none. */
  readonly error: string | null
}

/** How many receivers there are, and those to which nothing was delivered since an alert that is over an hour old. */
export async function selectFailingReceivers(
  pool: Postgres,
): Promise<{ readonly receivers: number; readonly failing: readonly FailingReceiver[] }> {
  const { rows } = await pool.query<{ id: string; since: Date | null; error: string | null }>(
    `select r.id, o.since, o.error from ${SCHEMA}.alert_receivers r
     left join lateral (
       select min(d.created_at) as since, (array_agg(d.error order by d.tried_at desc nulls last))[1] as error
       from ${SCHEMA}.alert_deliveries d
       where d.receiver_id = r.id and d.state in ('waiting', 'given_up')
         and d.created_at > coalesce((select max(t.delivered_at) from ${SCHEMA}.alert_deliveries t
           where t.receiver_id = r.id), '-infinity')
       having min(d.created_at) < now() - interval '1 hour'
         or bool_or(d.state = 'given_up')) o on true
     where r.removed_at is null order by o.since, r.id`,
  )
  return {
    receivers: rows.length,
    failing: rows.flatMap(({ id, since, error }) => (since === null ? [] : [{ id, since, error }])),
  }
}
