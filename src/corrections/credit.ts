import type { UtcDay } from '../domain/utc-day.ts'
import { lockDays } from '../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { METERED_COLUMNS, NOTHING_METERED } from '../usage/calls/recount.ts'
import { type DailyKey, KEY, KEY_RECORD, keyRowOf, keyWith } from '../usage/daily-key.ts'
import { ensureUsageMonths } from '../usage/days/usage-days.ts'
import { addAdjustment, addEntries } from './adjustments.ts'

/** What a credit stands under that is for no model in particular. */
export const CREDIT_MODEL = '(adjustment)'

export interface CreditOrder {
  readonly clientId: string
  readonly day: UtcDay
  /** `null`: for none in particular. */
  readonly model: string | null
  /** Below 0: in favour of the client. 1e-12 USD. */
  readonly pico: bigint
  readonly who: string
  readonly why: string
}

export interface Credited {
  readonly adjustmentId: string
  /** The client's cost on that day, metered and adjusted. */
  readonly beforePico: bigint
  readonly afterPico: bigint
}

/** Adds an amount to a client's cost of a day, in a row of its own that has no calls. */
export async function addCredit(pool: Postgres, order: CreditOrder): Promise<Credited> {
  const { clientId, day, model, pico, who, why } = order
  return await inTransaction(pool, async (session) => {
    await lockDays(session, [day])
    await ensureUsageMonths(session, [day])
    const beforePico = await costOfDay(session, clientId, day)
    const afterPico = beforePico + pico
    const key = keyWith({ clientId, day, model: model ?? CREDIT_MODEL })
    await addRow(session, key)
    const scope = { client_id: clientId, day, model }
    const adjustmentId = await addAdjustment(session, {
      kind: 'credit',
      who,
      why,
      scope,
      beforePico,
      afterPico,
    })
    await addEntries(session, adjustmentId, [{ key, pico, pricedCalls: 0n }])
    return { adjustmentId, beforePico, afterPico }
  })
}

async function costOfDay(session: PostgresSession, clientId: string, day: UtcDay): Promise<bigint> {
  const { rows } = await session.query<{ pico: string }>(
    `select coalesce(sum(cost_pico + adjusted_pico), 0) as pico from ${SCHEMA}.daily_usage
     where client_id = $1 and day = $2`,
    [clientId, day],
  )
  return BigInt(rows[0]?.pico ?? '0')
}

const ADD_ROW = `
insert into ${SCHEMA}.daily_usage (${KEY}, provider, ${METERED_COLUMNS.join(', ')})
select ${KEY}, '', ${NOTHING_METERED.join(', ')} from json_to_record($1) as r (${KEY_RECORD})
on conflict do nothing`

async function addRow(session: PostgresSession, key: DailyKey): Promise<void> {
  await session.query(ADD_ROW, [JSON.stringify(keyRowOf(key))])
}
