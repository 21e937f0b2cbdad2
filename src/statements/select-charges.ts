import type { UtcDay } from '../domain/utc-day.ts'
import { daysOfMonth, type UtcMonth } from '../domain/utc-month.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import type { StatementCharge } from './statement.ts'

/** What charges of a client come to now, less what its closed statements have of them. */
const SELECT_CHARGES = `
with stated as (
  select c.key as id, sum(c.value::numeric) as pico
  from ${SCHEMA}.statements s cross join lateral jsonb_each_text(s.charges) c where s.client_id = $1 group by c.key)
select * from (
  select h.id, name, category, service, from_day, to_day, quantity, unit, reason,
    (case when removed_at is null and client_id = $1 then amount_pico else 0 end - coalesce(stated.pico, 0))::text as pico
  from ${SCHEMA}.charges h left join stated using (id)
  where (client_id = $1 or stated.id is not null) and from_day between $2 and $3) open
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
  const { rows } = await session.query<ChargeRow>(SELECT_CHARGES, [clientId, isNext ? '-infinity' : from, to])
  return rows.map(({ from_day: first, to_day: last, quantity, unit, pico, ...row }) => ({
    ...row,
    ...{ from: first, to: last, quantity: quantity || null, unit: unit || null },
    amountPico: BigInt(pico),
  }))
}
