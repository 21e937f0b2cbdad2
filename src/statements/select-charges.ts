import type { UtcDay } from '../domain/utc-day.ts'
import { daysOfMonth, type UtcMonth } from '../domain/utc-month.ts'
import { clientsBelow } from '../keys/groups/group-spans.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import type { StatementCharge } from './statement.ts'

/**
 * What charges of a client come to up to a day, less what its closed statements have of them where `$4`: the month is
 * next. So one that was moved behind the month is taken back now, and comes again with its day.
 */
const SELECT_CHARGES = `
with stated as (
  select c.key as id, sum(c.value::numeric) as pico
  from ${SCHEMA}.statements s cross join lateral jsonb_each_text(s.charges) c where s.client_id = $1 and $4
  group by c.key)
select * from (
  select h.id, name, category, service, from_day, to_day, quantity, unit, reason,
    (case when removed_at is null and client_id = $1 and from_day <= $3 then amount_pico else 0 end
      - coalesce(stated.pico, 0))::text as pico
  from ${SCHEMA}.charges h left join stated using (id)
  where (client_id = $1 and from_day between $2 and $3) or stated.id is not null) open
where pico <> '0' order by from_day, name, id`

interface ChargeRow {
  readonly id: string
  readonly name: string
  readonly category: string
  readonly service: string
  readonly from_day: UtcDay
  readonly to_day: UtcDay
  readonly quantity: string
  readonly unit: string
  readonly reason: string
  readonly pico: string
}

function chargeFrom(row: ChargeRow): StatementCharge {
  const { id, name, category, service, from_day: from, to_day: to, reason } = row
  return {
    ...{ id, name, category, service, from, to, reason },
    ...{ quantity: row.quantity || null, unit: row.unit || null, amountPico: BigInt(row.pico) },
  }
}

/**
 * The charges that a month's statement has.
 *
 * @param isNext The month may be closed next, so it has what came to earlier ones since they were closed.
 */
export async function selectOpenCharges(
  session: PostgresSession,
  clientId: string,
  month: UtcMonth,
  isNext: boolean,
): Promise<readonly StatementCharge[]> {
  const { from, to } = daysOfMonth(month)
  const { rows } = await session.query<ChargeRow>(SELECT_CHARGES, [
    ...[clientId, isNext ? '-infinity' : from, to, isNext],
  ])
  return rows.map(chargeFrom)
}

/** A charge of a client that was in a group. */
export interface GroupCharge extends StatementCharge {
  readonly client: string
}

const SELECT_GROUP_CHARGES = `
select c.name as client, h.id, h.name, category, service, h.from_day, h.to_day, quantity, unit, reason,
  amount_pico::text as pico
from (${clientsBelow('$1')}) m
join ${SCHEMA}.charges h on h.client_id = m.client_id and h.from_day between m.from_day and m.to_day
join ${SCHEMA}.clients c on c.id = h.client_id
where h.removed_at is null and h.from_day between $2 and $3 order by c.name, h.from_day, h.name, h.id`

/** The charges of a month whose first day their client was in the group or below it, as they are now. */
export async function selectGroupCharges(
  session: PostgresSession,
  groupId: string,
  month: UtcMonth,
): Promise<readonly GroupCharge[]> {
  const { from, to } = daysOfMonth(month)
  const { rows } = await session.query<ChargeRow & { readonly client: string }>(SELECT_GROUP_CHARGES, [
    ...[groupId, from, to],
  ])
  return rows.map((row) => ({ ...chargeFrom(row), client: row.client }))
}
