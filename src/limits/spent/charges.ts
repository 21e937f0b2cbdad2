import type { CallRecord, CountedCall } from '../../call/call-record.ts'
import { reportedNoFigures } from '../../call/unpriced-reason.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { isRowOf, KEY_COLUMNS, KEY_RECORD, keyOf, keyRowOf, keyText, ROW_KEY } from '../../usage/daily-key.ts'

/**
 * A job whose use is not known reserves for so long, and is charged after that: providers give a batch 24 hours. One that
 * was deleted before it reported its use is charged at once, else to delete it would be a way around the budget.
 */
const JOB_RESERVE_HOURS = 25

/**
 * The condition that a row `o` of `objects` is a job that reserved something and has not reported what it used. One whose
 * end was seen may have used something all the same, but for batches: what these used stands in files, and there were
 * none, or they said nothing. One that was lost before it was read may have had some.
 */
export const IS_UNTOLD_JOB = `o.job and o.reserved_pico is not null
  and (o.settled_at is null or (o.unpriced_as is not null and (o.kind <> 'batch' or o.lost_at is not null)))`

/** Of these, the condition that the job is still waited for. */
export const IS_WAITING_JOB = `(o.settled_at is null and o.deleted_at is null and o.created_at >= now() - interval '${JOB_RESERVE_HOURS} hours')`

/** How many calls of a row `u` of `daily_usage` had figures and no cost, whatever a repricing gave them since; null: none. */
export const UNPRICED_WITH_FIGURES = 'nullif(u.unpriced - coalesce(u.without_figures, 0) - u.invalid, 0)'

/**
 * What the calls of a row `c` of `budget_charges`, or of `route_spending`, are charged now, as a column `pico` of
 * `charge`. Of calls with figures a repricing gives some a cost: they are charged no longer, each as the average of their
 * row.
 */
export const CHARGES_LEFT = `lateral (
  select c.without_figures_pico + c.unpriced_pico * coalesce((
    select greatest(0, 1 - coalesce(u.priced_later, 0)::numeric / ${UNPRICED_WITH_FIGURES})
    from ${SCHEMA}.daily_usage u where ${isRowOf('u', 'c')} limit 1), 1) as pico) as charge`

/** Adds what budgets are charged for these calls, under the models that they are totalled under. */
export async function addCharges(session: PostgresSession, calls: readonly CountedCall[]): Promise<void> {
  const rows = new Map<string, { unpriced_pico: bigint; without_figures_pico: bigint }>()
  const keys = new Map<string, object>()
  for (const call of calls) {
    const pico = chargeOf(call)
    if (pico === 0n) continue
    const key = keyOf(call)
    const text = keyText(key)
    const row = rows.get(text) ?? { unpriced_pico: 0n, without_figures_pico: 0n }
    row[mayBePriced(call) ? 'unpriced_pico' : 'without_figures_pico'] += pico
    rows.set(text, row)
    keys.set(text, keyRowOf(key))
  }
  if (rows.size === 0) return
  const sorted = [...rows].sort(([left], [right]) => (left < right ? -1 : 1))
  const json = sorted.map(([text, { unpriced_pico: unpriced, without_figures_pico: without }]) => ({
    ...keys.get(text),
    unpriced_pico: `${unpriced}`,
    without_figures_pico: `${without}`,
  }))
  const columns = KEY_COLUMNS.join(', ')
  await session.query(
    `insert into ${SCHEMA}.budget_charges as c (${columns}, unpriced_pico, without_figures_pico)
     select ${columns}, unpriced_pico, without_figures_pico
     from json_to_recordset($1) as r (${KEY_RECORD}, unpriced_pico numeric, without_figures_pico numeric)
     on conflict (${ROW_KEY}) do update set unpriced_pico = c.unpriced_pico + excluded.unpriced_pico,
       without_figures_pico = c.without_figures_pico + excluded.without_figures_pico`,
    [JSON.stringify(json)],
  )
}

/** What a call reported of another's job had reserved nothing. */
export function chargeOf({ costPico, chargedPico, settlement }: CountedCall): bigint {
  return costPico === null && chargedPico !== undefined && settlement === undefined ? BigInt(chargedPico) : 0n
}

/** Whether figures are known that a later price would fit. */
export function mayBePriced({ usageSource, unpricedReason }: CallRecord): boolean {
  return usageSource !== 'invalid' && !reportedNoFigures(unpricedReason)
}
