import { hashedUuid } from '../../call/hashed-uuid.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { BillingEvent } from './mouth.ts'
import { type BillingReceiver, MOUTHS } from './mouths.ts'

/** An event that this process tries to send. */
export interface ClaimedEvent extends BillingEvent {
  readonly number: string
  /** How many attempts there were, with this one. */
  readonly attempts: number
  /** An attempt before may have arrived. */
  readonly mayBeThere: boolean
}

export const EVENT_STATES = ['waiting', 'sent', 'refused', 'doubtful', 'replaced'] as const

export type EventState = (typeof EVENT_STATES)[number]

/** As the tables have it. */
interface EventRow {
  readonly number: string
  readonly receiver: string
  readonly day: UtcDay
  readonly client_id: string
  readonly client: string
  readonly meter: string
  readonly model: string
  readonly change: number
  readonly value: string
  readonly total: string
  readonly happened_at: Date
  readonly customer: string
  readonly subscription: string | null
}

/** An event is named by what it is about in the ledger, and by which change of it it is. */
function idOf({ receiver, day, client_id, meter, model, change }: EventRow): string {
  return hashedUuid('billing', receiver, day, client_id, meter, model, `${change}`)
}

function eventFrom(row: EventRow): BillingEvent {
  const { meter, model, day, client, customer, subscription, value, total, happened_at: at } = row
  return {
    id: idOf(row),
    meter,
    model: model === '' ? null : model,
    day,
    client,
    customer,
    subscription,
    sequence: row.change,
    change: value,
    total,
    at,
  }
}

/**
 * Sets apart what may not be sent any more: an event that may have arrived so long ago that the receiver would take it
 * again, and one whose total a later one replaces. What has waited until its time is too old there is sent as of now.
 */
export async function setApart(pool: Postgres, { name, kind, sends }: BillingReceiver): Promise<void> {
  if (sends === 'totals') {
    await pool.query(
      `update ${SCHEMA}.billing_events e set state = 'replaced', sent_at = now()
       from ${SCHEMA}.billing_sums s
       where e.receiver = $1 and e.state = 'waiting' and (s.receiver, s.day, s.client_id, s.meter, s.model)
         = (e.receiver, e.day, e.client_id, e.meter, e.model) and e.change < s.changes`,
      [name],
    )
    return
  }
  const { remembersMs, oldestDays } = MOUTHS[kind]
  if (oldestDays !== null)
    await pool.query(
      `update ${SCHEMA}.billing_events set happened_at = now()
       where receiver = $1 and state = 'waiting' and happened_at < now() - make_interval(days => $2)`,
      [name, oldestDays],
    )
  if (remembersMs === null) return
  await pool.query(
    `update ${SCHEMA}.billing_events set state = 'doubtful'
     where receiver = $1 and state = 'waiting' and tried_at < now() - make_interval(secs => $2)`,
    [name, remembersMs / 1_000],
  )
}

/**
 * The first that wait, as tried from now on: a worker that is killed leaves behind that they may have arrived. Those of
 * clients that are mapped no more wait on.
 */
export async function claimEvents(
  pool: Postgres,
  receiver: string,
  limit: number,
): Promise<readonly ClaimedEvent[]> {
  const { rows } = await pool.query<EventRow & { readonly before: Date | null; readonly attempts: number }>(
    `with next as (
       select e.number, e.tried_at as before, c.customer, c.subscription, coalesce(n.name, e.client_id) as client
       from ${SCHEMA}.billing_events e join ${SCHEMA}.billing_customers c using (receiver, client_id)
       left join ${SCHEMA}.clients n on n.id = e.client_id
       where e.receiver = $1 and e.state = 'waiting' order by e.number limit $2),
     tried as (
       update ${SCHEMA}.billing_events e set attempts = attempts + 1, tried_at = coalesce(tried_at, now())
       from next where e.number = next.number
       returning e.number, e.receiver, e.day, e.client_id, e.meter, e.model, e.change, e.value, e.total, e.happened_at,
         e.attempts, next.before, next.customer, next.subscription, next.client)
     select * from tried order by number`,
    [receiver, limit],
  )
  return rows.map((row) => ({
    ...eventFrom(row),
    ...{ number: row.number, attempts: row.attempts, mayBeThere: row.before !== null },
  }))
}

/** What came of a claim. */
export interface SentEvents {
  readonly sent: string[]
  /** `mayBeThere`: an attempt before may have arrived all the same. */
  readonly refused: {
    readonly number: string
    readonly error: string
    readonly mayBeThere: boolean
  }[]
  /** They have not arrived: they were not sent, or the receiver said so. */
  readonly untouched: { readonly number: string; readonly attempts: number }[]
}

export async function keepSent(
  pool: Postgres,
  receiver: string,
  { sent, refused, untouched }: SentEvents,
): Promise<void> {
  await pool.query(
    `with sent as (
       update ${SCHEMA}.billing_events set state = 'sent', sent_at = now(), error = null
       where number = any($2::bigint[]) and state = 'waiting' returning number),
     refused as (
       update ${SCHEMA}.billing_events e set state = 'refused', error = r.error,
         tried_at = case when r."mayBeThere" then tried_at end
       from json_to_recordset($3) as r (number bigint, error text, "mayBeThere" boolean)
       where e.number = r.number and e.state = 'waiting'),
     -- Where another worker has tried it since, that one knows.
     untouched as (
       update ${SCHEMA}.billing_events e set tried_at = null
       from json_to_recordset($4) as u (number bigint, attempts integer)
       where e.number = u.number and e.attempts = u.attempts)
     update ${SCHEMA}.billing_receivers set sent_events = sent_events + n.count,
       sent_at = case when n.count > 0 then now() else sent_at end
     from (select count(*) from sent) n where name = $1`,
    [receiver, sent, JSON.stringify(refused), JSON.stringify(untouched)],
  )
}

/** An event as operators see it. */
export interface ListedEvent extends BillingEvent {
  readonly number: string
  readonly receiver: string
  readonly state: EventState
  readonly attempts: number
  readonly madeAt: Date
  readonly error: string | null
}

export interface EventScope {
  readonly receiver: string | null
  readonly state: EventState | null
  readonly limit: number
}

/** The newest first. */
export async function selectEvents(
  pool: Postgres,
  { receiver, state, limit }: EventScope,
): Promise<readonly ListedEvent[]> {
  const { rows } = await pool.query<
    EventRow & {
      readonly state: EventState
      readonly attempts: number
      readonly made_at: Date
      readonly error: string | null
    }
  >(
    `select e.*, coalesce(c.customer, '') as customer, c.subscription, coalesce(n.name, e.client_id) as client
     from ${SCHEMA}.billing_events e left join ${SCHEMA}.billing_customers c using (receiver, client_id)
     left join ${SCHEMA}.clients n on n.id = e.client_id
     where ($1::text is null or e.receiver = $1) and ($2::text is null or e.state = $2)
     order by e.number desc limit $3`,
    [receiver, state, limit],
  )
  return rows.map((row) => ({
    ...eventFrom(row),
    number: row.number,
    receiver: row.receiver,
    state: row.state,
    attempts: row.attempts,
    madeAt: row.made_at,
    error: row.error,
  }))
}

/** Has all that were refused sent again. What may have arrived before it was refused stays so. @returns How many. */
export async function retryRefused(pool: Postgres, receiver: string): Promise<number> {
  const { rowCount } = await pool.query(
    `update ${SCHEMA}.billing_events set state = 'waiting' where receiver = $1 and state = 'refused'`,
    [receiver],
  )
  return rowCount ?? 0
}

/** Says whether a doubtful event has arrived; one that has not is sent again. @returns Whether it was doubtful. */
export async function settleDoubtful(pool: Postgres, number: string, hasArrived: boolean): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update ${SCHEMA}.billing_events set state = case when $2 then 'sent' else 'waiting' end, tried_at = null,
       sent_at = case when $2 then now() end
     where number = $1 and state = 'doubtful'`,
    [number, hasArrived],
  )
  return rowCount === 1
}

/** As long as events that were sent are shown. */
const SENT_DAYS = 40

/** Deletes events that were sent long ago. What they came to stays. */
export async function pruneBillingEvents(session: PostgresSession): Promise<void> {
  await session.query(
    `delete from ${SCHEMA}.billing_events where state in ('sent', 'replaced') and sent_at < now() - interval '${SENT_DAYS} days'`,
  )
}
