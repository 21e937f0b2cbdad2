import { hashedUuid } from '../../call/hashed-uuid.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { selectUsageDays } from '../../usage/days/usage-days.ts'
import { isClosed } from '../../usage/summaries/summarised.ts'
import { lockReceiver } from './billing-state.ts'
import { MEASURES } from './measures.ts'
import { type BillingReceiver, MOUTHS } from './mouths.ts'

/** A day to look at. */
interface OpenDay {
  readonly day: UtcDay
  /** What its sums were made of, where nothing changes them any more: see `madeOf`. */
  readonly attempt: string | null
}

/**
 * Makes an event of every sum that differs from what its events come to. What was counted, corrected, repriced, priced
 * later or erased since is in it alike, as it is the ledger's totals that are compared: nothing is written when calls are
 * counted, and nothing can be missing. A day that is closed and was not written since is not read, as long as the meters
 * are the same.
 */
export async function makeEvents(pool: Postgres, receiver: BillingReceiver): Promise<void> {
  for (const day of await selectOpenDays(pool, receiver)) {
    await inTransaction(pool, async (session) => {
      // One at a time: two that saw the same difference would send it twice.
      await lockReceiver(session, receiver.name)
      await addChanges(session, receiver, day.day)
      if (day.attempt !== null)
        await session.query(
          `insert into ${SCHEMA}.billing_days (receiver, day, attempt) values ($1, $2, $3)
           on conflict (receiver, day) do update set attempt = excluded.attempt`,
          [receiver.name, day.day, day.attempt],
        )
    })
  }
  await pool.query(`update ${SCHEMA}.billing_receivers set made_at = now() where name = $1`, [receiver.name])
}

/** Names the summing up of a day and the meters, so that new meters get the days that are closed, too. */
function madeOf({ meters, byModel }: BillingReceiver, attempt: string): string {
  return hashedUuid('billing day', attempt, JSON.stringify([meters, byModel]))
}

async function selectOpenDays(pool: Postgres, receiver: BillingReceiver): Promise<readonly OpenDay[]> {
  const { rows: period } = await pool.query<{ from: UtcDay | null; today: UtcDay }>(
    `select min(from_day) as from, (now() at time zone 'utc')::date as today
     from ${SCHEMA}.billing_customers where receiver = $1`,
    [receiver.name],
  )
  const [{ from, today } = { from: null, today: '' }] = period
  if (from === null) return []
  // A gateway's clock may be ahead.
  const days = await selectUsageDays(pool, from, addDays(today, 1))
  const { rows } = await pool.query<OpenDay & { readonly known: string | null }>(
    `select d.day, s.attempt, b.attempt as known from (
       select unnest($2::date[]) as day union
       select day from ${SCHEMA}.billing_sums where receiver = $1 and total <> 0 and day >= $3) d
     left join ${SCHEMA}.summarised_days s on s.day = d.day and ${isClosed('s')}
     left join ${SCHEMA}.billing_days b on b.receiver = $1 and b.day = d.day
     order by d.day`,
    [receiver.name, days, from],
  )
  return rows.flatMap(({ day, attempt: closed, known }) => {
    const attempt = closed === null ? null : madeOf(receiver, closed)
    return attempt !== null && attempt === known ? [] : [{ day, attempt }]
  })
}

async function addChanges(session: PostgresSession, receiver: BillingReceiver, day: UtcDay): Promise<void> {
  const { meters, byModel, name, kind, sends } = receiver
  const sums = meters.map(({ measure }, index) => `${MEASURES.get(measure)?.sum ?? '0'} as m${index}`)
  const named = meters.map((_, index) => `($${index + 4}::text, m${index})`)
  await session.query(
    `with sums as (
       select u.client_id, ${byModel ? 'u.model' : `''`} as model, ${sums.join(', ')}
       from ${SCHEMA}.daily_usage u join ${SCHEMA}.billing_customers c
         on c.receiver = $1 and c.client_id = u.client_id and c.from_day <= u.day
       where u.day = $2 group by 1, 2),
     wanted as (
       select client_id, model, meter, value
       from sums cross join lateral (values ${named.join(', ')}) as v (meter, value)),
     known as (
       select s.client_id, s.model, s.meter, s.total, s.changes
       from ${SCHEMA}.billing_sums s join ${SCHEMA}.billing_customers c using (receiver, client_id)
       where s.receiver = $1 and s.day = $2 and c.from_day <= s.day and s.meter = any(array[${meters.map((_, index) => `$${index + 4}`)}])),
     changed as (
       select client_id, model, meter, coalesce(value, 0) as total,
         coalesce(value, 0) - coalesce(total, 0) as value, coalesce(changes, 0) + 1 as change
       from wanted full join known using (client_id, model, meter)
       where coalesce(value, 0) <> coalesce(total, 0)),
     kept as (
       insert into ${SCHEMA}.billing_sums as s (receiver, day, client_id, meter, model, total, changes)
       select $1, $2, client_id, meter, model, total, change from changed
       on conflict (receiver, day, client_id, meter, model)
         do update set total = excluded.total, changes = excluded.changes)
     insert into ${SCHEMA}.billing_events (receiver, day, client_id, meter, model, change, value, total, happened_at)
     select $1, $2, client_id, meter, model, change, value, total,
       -- The last second of its day, or now. What the receiver finds too old falls into what it bills next.
       case when $2::date <= (now() at time zone 'utc')::date - $3::integer then now()
         else least(now(), ($2::date + 1)::timestamp at time zone 'utc' - interval '1 s') end
     from changed order by client_id, meter, model`,
    [name, day, sends === 'totals' ? null : MOUTHS[kind].oldestDays, ...meters.map(({ name }) => name)],
  )
}
