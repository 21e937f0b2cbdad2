import { randomBase62 } from '../domain/base62.ts'
import type { Occurrence } from '../domain/conditions/condition.ts'
import { inTransaction, type Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import type { AlertKind } from './alert-kinds.ts'

/** Something of a kind that receivers are to learn, once. */
export interface KnownOccurrence extends Occurrence {
  readonly kind: AlertKind
}

/** A client can invent models and paths: of one kind no more than so many alerts a UTC day, but for budgets. */
const ALERTS_A_DAY = 20

/** What was there already stays as it is. Beyond a kind's number a day there are none. */
const ADD_ALERTS = `
with occurred as (
  select o.*, row_number() over (partition by kind, period order by place) as rank
  from json_to_recordset($1) as o (place integer, id text, kind text, subject text, period date, threshold integer,
    "clientId" text, payload json)
  where not exists (select from ${SCHEMA}.alerts a
    where a.kind = o.kind and a.subject = o.subject and a.period = o.period and a.threshold = o.threshold))
insert into ${SCHEMA}.alerts (id, kind, subject, period, threshold, client_id, payload)
select id, kind, subject, period, threshold, "clientId", payload from occurred o
where kind = 'budget' or rank + (select count(*) from ${SCHEMA}.alerts a
  where a.kind = o.kind and a.period = o.period) <= ${ALERTS_A_DAY}
on conflict do nothing`

/** Whether a receiver `r` wants an alert `a`, in SQL. */
export const WANTED = `r.removed_at is null and a.kind = any(r.kinds)
  and (r.client_id is null or r.client_id = a.client_id)
  and (a.kind <> 'budget' or a.threshold = any(r.thresholds))`

const ADD_DELIVERIES = `
insert into ${SCHEMA}.alert_deliveries (id, alert_id, receiver_id)
select 'dlv_' || replace(gen_random_uuid()::text, '-', ''), a.id, r.id
from json_to_recordset($1) as o (kind text, subject text, period date, threshold integer)
join ${SCHEMA}.alerts a using (kind, subject, period, threshold)
join ${SCHEMA}.alert_receivers r on ${WANTED}
where not exists (select from ${SCHEMA}.alert_deliveries d where d.alert_id = a.id and d.receiver_id = r.id)
on conflict do nothing
returning id`

/**
 * Makes the alerts that are not there yet, and a delivery for every receiver that wants one and has none. Any number of
 * workers may do it at once, and again and again.
 *
 * @returns The ids of the deliveries it made.
 */
export async function raiseAlerts(
  pool: Postgres,
  occurrences: readonly KnownOccurrence[],
): Promise<string[]> {
  if (occurrences.length === 0) return []
  const text = JSON.stringify(
    occurrences.map((one, place) => ({
      threshold: 0,
      clientId: null,
      ...one,
      place,
      id: `alt_${randomBase62(20)}`,
    })),
  )
  return await inTransaction(pool, async (session) => {
    await session.query(ADD_ALERTS, [text])
    const { rows } = await session.query<{ id: string }>(ADD_DELIVERIES, [text])
    return rows.map(({ id }) => id)
  })
}

/** What any receiver asked for, so that nothing is worked out in vain. */
export async function selectWantedKinds(pool: Postgres): Promise<ReadonlySet<AlertKind>> {
  const { rows } = await pool.query<{ kind: AlertKind }>(
    `select distinct unnest(kinds) as kind from ${SCHEMA}.alert_receivers where removed_at is null`,
  )
  return new Set(rows.map(({ kind }) => kind))
}
