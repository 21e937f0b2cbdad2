import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { BillingReceiver } from './mouths.ts'

/** Where events on their way to one billing system stand. */
export interface BillingState {
  readonly receiver: string
  readonly kind: string
  /** When a worker last had it in its configuration. */
  readonly seenAt: Date
  readonly clients: number
  readonly sentEvents: number
  readonly sentAt: Date | null
  readonly waitingEvents: number
  /** When the oldest waiting event was made; `null`: none waits. */
  readonly oldestAt: Date | null
  readonly refusedEvents: number
  /** Why the last of them was refused. */
  readonly refusedWhy: string | null
  readonly doubtfulEvents: number
  /** What keeps events from it; `null`: nothing. */
  readonly problem: string | null
}

/** By name. One small query where no worker ever had one. */
export async function selectBillingStates(pool: Postgres): Promise<readonly BillingState[]> {
  const { rows } = await pool.query<{
    name: string
    kind: string
    seen_at: Date
    clients: string
    sent_events: string
    sent_at: Date | null
    problem: string | null
    waiting: string
    oldest_at: Date | null
    refused: string
    refused_why: string | null
    doubtful: string
  }>(
    `select r.name, r.kind, r.held_until as seen_at, r.sent_events, r.sent_at, r.problem, e.*,
       (select count(*) from ${SCHEMA}.billing_customers c where c.receiver = r.name) as clients
     from ${SCHEMA}.billing_receivers r cross join lateral (
       select count(*) filter (where state = 'waiting') as waiting,
         min(made_at) filter (where state = 'waiting') as oldest_at,
         count(*) filter (where state = 'refused') as refused,
         (array_agg(error order by number desc) filter (where state = 'refused'))[1] as refused_why,
         count(*) filter (where state = 'doubtful') as doubtful
       from ${SCHEMA}.billing_events
       where receiver = r.name and state in ('waiting', 'refused', 'doubtful')) e
     order by r.name`,
  )
  return rows.map((row) => ({
    receiver: row.name,
    kind: row.kind,
    seenAt: row.seen_at,
    clients: Number(row.clients),
    sentEvents: Number(row.sent_events),
    sentAt: row.sent_at,
    waitingEvents: Number(row.waiting),
    oldestAt: row.oldest_at,
    refusedEvents: Number(row.refused),
    refusedWhy: row.refused_why,
    doubtfulEvents: Number(row.doubtful),
    problem: row.problem,
  }))
}

/**
 * Makes `holder` the one that sends to it, or lets it go on.
 *
 * @param leaseMs A worker that was killed is followed by another one after this time, by the database's clock.
 * @returns Since when the ledger was not looked at, in milliseconds; `null`: another worker sends.
 */
export async function holdReceiver(
  pool: Postgres,
  { name, kind }: BillingReceiver,
  holder: string,
  leaseMs: number,
): Promise<number | null> {
  const { rows } = await pool.query<{ age_ms: number | null }>(
    `insert into ${SCHEMA}.billing_receivers as r (name, kind, holder, held_until)
     values ($1, $2, $3, now() + make_interval(secs => $4::double precision / 1000))
     on conflict (name) do update set kind = excluded.kind, holder = excluded.holder, held_until = excluded.held_until
     where r.holder = excluded.holder or r.held_until <= now()
     returning extract(epoch from now() - made_at)::double precision * 1000 as age_ms`,
    [name, kind, holder, leaseMs],
  )
  const [row] = rows
  return row === undefined ? null : (row.age_ms ?? Number.POSITIVE_INFINITY)
}

/** Lets another worker try at once. */
export async function leaveReceiver(pool: Postgres, name: string, holder: string): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.billing_receivers set held_until = now() where name = $1 and holder = $2`,
    [name, holder],
  )
}

/** Says what keeps events from it; `null`: nothing does. */
export async function setReceiverProblem(
  pool: Postgres,
  name: string,
  problem: string | null,
): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.billing_receivers set problem = $2, problem_at = now()
     where name = $1 and problem is distinct from $2`,
    [name, problem],
  )
}

/** Keeps others from making its events, and from mapping clients to it, until the transaction ends. */
export async function lockReceiver(
  session: PostgresSession,
  name: string,
): Promise<{ readonly isHeld: boolean } | null> {
  const { rows } = await session.query<{ isHeld: boolean }>(
    `select held_until > now() as "isHeld" from ${SCHEMA}.billing_receivers where name = $1 for update`,
    [name],
  )
  return rows[0] ?? null
}

/**
 * Sends nothing to a receiver any more. What it was sent stays known: an event of another life under the same id would be
 * left out there. `held`: a worker still has it. `null`: there is none.
 */
export async function dropReceiver(pool: Postgres, name: string): Promise<number | 'held' | null> {
  return await inTransaction(pool, async (session) => {
    const receiver = await lockReceiver(session, name)
    if (receiver === null) return null
    if (receiver.isHeld) return 'held'
    const dropped = await dropWaiting(session, name, null)
    for (const table of ['billing_days', 'billing_customers'])
      await session.query(`delete from ${SCHEMA}.${table} where receiver = $1`, [name])
    await session.query(`delete from ${SCHEMA}.billing_receivers where name = $1`, [name])
    return dropped
  })
}

/** Who a client is for a receiver. */
export interface BillingCustomer {
  readonly receiver: string
  readonly clientId: string
  readonly client: string
  readonly customer: string
  readonly subscription: string | null
  /** The first day that is sent. */
  readonly from: string
}

/** @param receiver `null`: of all. */
export async function selectCustomers(
  pool: Postgres,
  receiver: string | null,
): Promise<readonly BillingCustomer[]> {
  const { rows } = await pool.query<BillingCustomer>(
    `select c.receiver, c.client_id as "clientId", n.name as client, c.customer, c.subscription, c.from_day as from
     from ${SCHEMA}.billing_customers c join ${SCHEMA}.clients n on n.id = c.client_id
     where $1::text is null or c.receiver = $1 order by c.receiver, n.name`,
    [receiver],
  )
  return rows
}

/**
 * Says who a client is there, from a day on. The first day of one that is mapped stays unless it is earlier now: what was
 * sent is not taken back.
 */
export async function putCustomer(
  pool: Postgres,
  { receiver, clientId, customer, subscription, from }: Omit<BillingCustomer, 'client'>,
): Promise<void> {
  await inTransaction(pool, async (session) => {
    // A worker that makes the events of a day without this client would have the day for closed behind it.
    await lockReceiver(session, receiver)
    await session.query(
      `with put as (
         insert into ${SCHEMA}.billing_customers as c (receiver, client_id, customer, subscription, from_day)
         values ($1, $2, $3, $4, $5)
         on conflict (receiver, client_id) do update set customer = excluded.customer,
           subscription = excluded.subscription, from_day = least(c.from_day, excluded.from_day))
       delete from ${SCHEMA}.billing_days where receiver = $1 and day >= $5`,
      [receiver, clientId, customer, subscription, from],
    )
  })
}

/**
 * Sends nothing of a client there any more. What waits is dropped, and no longer counted as sent; what may have arrived
 * is doubtful.
 *
 * @returns How many events were dropped; `null`: the client was not mapped.
 */
export async function removeCustomer(
  pool: Postgres,
  receiver: string,
  clientId: string,
): Promise<number | null> {
  return await inTransaction(pool, async (session) => {
    await lockReceiver(session, receiver)
    const { rowCount } = await session.query(
      `delete from ${SCHEMA}.billing_customers where receiver = $1 and client_id = $2`,
      [receiver, clientId],
    )
    return rowCount === 0 ? null : await dropWaiting(session, receiver, clientId)
  })
}

/** @param clientId `null`: of all. */
async function dropWaiting(
  session: PostgresSession,
  receiver: string,
  clientId: string | null,
): Promise<number> {
  const isOpen = `receiver = $1 and ($2::text is null or client_id = $2) and state in ('waiting', 'refused')`
  await session.query(
    `update ${SCHEMA}.billing_events set state = 'doubtful' where ${isOpen} and tried_at is not null`,
    [receiver, clientId],
  )
  const dropped = await session.query(
    `with gone as (
       delete from ${SCHEMA}.billing_events where ${isOpen} returning client_id, day, meter, model, value),
     sums as (select client_id, day, meter, model, sum(value) as value from gone group by 1, 2, 3, 4),
     taken as (
       update ${SCHEMA}.billing_sums s set total = s.total - t.value from sums t
       where s.receiver = $1 and (s.client_id, s.day, s.meter, s.model) = (t.client_id, t.day, t.meter, t.model))
     select from gone`,
    [receiver, clientId],
  )
  return dropped.rowCount ?? 0
}
