import type { UtcDay } from '../domain/utc-day.ts'
import type { ListedLine } from '../pricing/contracts/three-costs.ts'
import { lockDays } from '../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { METERED_COLUMNS, NOTHING_METERED } from '../usage/calls/recount.ts'
import { storedLines } from '../usage/costs/operator-costs.ts'
import { type DailyKey, isRowOf, KEY, KEY_RECORD, keyRowOf, keyText, keyWith } from '../usage/daily-key.ts'
import { ensureUsageMonths, reopeningDaysOf } from '../usage/days/usage-days.ts'
import { keptAs, valueIn } from '../usage/metrics-table.ts'
import { sendAdjustment } from '../usage/outbox/outbox.ts'
import { addValueEntries, type ValueEntry } from './value-entries.ts'

/** What a correction was: a credit by hand, a repricing, or a day's totals computed again from its calls. */
export type AdjustmentKind = 'credit' | 'reprice' | 'rebuild'

export interface NewAdjustment {
  readonly kind: AdjustmentKind
  readonly who: string
  readonly why: string
  /** What it is about, for those who read it later. */
  readonly scope: object
  /** The cost of what is in the scope, metered and adjusted, before and after; 1e-12 USD. */
  readonly beforePico: bigint
  readonly afterPico: bigint
}

/** Keeps who changed what, when and why. @returns Its id. */
export async function addAdjustment(session: PostgresSession, adjustment: NewAdjustment): Promise<string> {
  const { kind, who, why, scope, beforePico, afterPico } = adjustment
  const { rows } = await session.query<{ id: string }>(
    `insert into ${SCHEMA}.adjustments (kind, who, why, scope, before_pico, after_pico)
     values ($1, $2, $3, $4, $5, $6) returning id`,
    [kind, who, why, JSON.stringify(scope), beforePico.toString(), afterPico.toString()],
  )
  return rows[0]?.id ?? ''
}

/** The sums of an adjustment whose work goes on, up to now. */
export async function setAdjustmentSums(
  session: PostgresSession,
  adjustmentId: string,
  { beforePico, afterPico }: Pick<NewAdjustment, 'beforePico' | 'afterPico'>,
): Promise<void> {
  await session.query(`update ${SCHEMA}.adjustments set before_pico = $2, after_pico = $3 where id = $1`, [
    adjustmentId,
    beforePico.toString(),
    afterPico.toString(),
  ])
}

/**
 * Writes an adjustment's row once more, as its entries have changed. Answers that are kept until something changes look
 * at these rows alone: entries are many.
 */
export async function touchAdjustment(session: PostgresSession, adjustmentId: string): Promise<void> {
  await session.query(`update ${SCHEMA}.adjustments set after_pico = after_pico where id = $1`, [
    adjustmentId,
  ])
}

/** What an adjustment adds to one row of `daily_usage`. */
export interface AdjustmentEntry {
  readonly key: DailyKey
  /** May be negative; 1e-12 USD. */
  readonly pico: bigint
  /** Calls that had no cost and have one now. */
  readonly pricedCalls: bigint
  /** Its parts by the values of its calls; absent: they are not known, and are `(corrected)`. */
  readonly byValue?: readonly ValueEntry[]
  /** The same at list prices; absent: it is not about prices. */
  readonly lines?: readonly ListedLine[]
}

const ENTRY_RECORD = `json_to_recordset($1) as e (${KEY_RECORD}, pico numeric, priced_calls bigint, lines jsonb)`

const ADJUST_ROWS = `
with e as (select * from ${ENTRY_RECORD}),${reopeningDaysOf('e')}
update ${SCHEMA}.daily_usage u set adjusted_pico = u.adjusted_pico + e.pico,
  priced_later = ${keptAs('priced_later', `${valueIn('u', 'priced_later')} + e.priced_calls`)}
from e where ${isRowOf('u', 'e')}`

/** `at` rises with every change of an entry, whatever clocks do: of its events the latest holds. */
const KEEP_ENTRIES = `
insert into ${SCHEMA}.adjustment_entries as a (adjustment_id, ${KEY}, pico, priced_calls, lines, at)
select $2, ${KEY}, pico, priced_calls, lines, clock_timestamp() from ${ENTRY_RECORD}
on conflict (adjustment_id, ${KEY}) do update set
  pico = a.pico + excluded.pico, priced_calls = a.priced_calls + excluded.priced_calls,
  lines = case when a.lines is not null and excluded.lines is not null then (
    select coalesce(jsonb_agg(line), '[]') from (
      select jsonb_build_array(l->>0, l->>1, sum((l->>2)::numeric)::text) as line
      from jsonb_array_elements(a.lines || excluded.lines) l
      group by l->>0, l->>1 having sum((l->>2)::numeric) <> 0) added) end,
  at = greatest(excluded.at, a.at + interval '1 microsecond')`

/**
 * Adds an adjustment's entries to the rows they are for, which must be there, keeps them, and has them sent to Kafka
 * where calls are.
 *
 * @param entries Each row once.
 */
export async function addEntries(
  session: PostgresSession,
  adjustmentId: string,
  entries: readonly AdjustmentEntry[],
): Promise<void> {
  if (entries.length === 0) return
  const sorted = [...entries].sort((a, b) => (keyText(a.key) < keyText(b.key) ? -1 : 1))
  const json = JSON.stringify(
    sorted.map(({ key, pico, pricedCalls, lines }) => ({
      ...keyRowOf(key),
      pico: pico.toString(),
      priced_calls: pricedCalls.toString(),
      lines: lines === undefined ? null : storedLines(lines),
    })),
  )
  const { rowCount } = await session.query(ADJUST_ROWS, [json])
  if (rowCount !== entries.length) throw new Error('a row to adjust is not there')
  await session.query(KEEP_ENTRIES, [json, adjustmentId])
  await addValueEntries(session, adjustmentId, sorted)
  await sendAdjustment(session, adjustmentId, json)
}

/** An adjustment as it stands now: late calls may have added to it. */
export interface Adjustment extends NewAdjustment {
  readonly id: string
  readonly at: Date
  /** What it has added in all, with calls that came in later. */
  readonly pico: bigint
  readonly rows: number
  readonly pricedCalls: bigint
}

/** The newest adjustments, newest first. */
export async function selectAdjustments(pool: Postgres, limit: number): Promise<Adjustment[]> {
  const { rows } = await pool.query<{
    id: string
    kind: AdjustmentKind
    at: Date
    who: string
    why: string
    scope: object
    before_pico: string
    after_pico: string
    pico: string
    row_count: string
    priced_calls: string
  }>(
    `select a.id, a.kind, a.at, a.who, a.why, a.scope, a.before_pico, a.after_pico, e.*
     from ${SCHEMA}.adjustments a, lateral (
       select coalesce(sum(pico), 0) as pico, count(*) as row_count,
         coalesce(sum(priced_calls), 0) as priced_calls
       from ${SCHEMA}.adjustment_entries where adjustment_id = a.id) e
     order by a.id desc limit $1`,
    [limit],
  )
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    at: row.at,
    who: row.who,
    why: row.why,
    scope: row.scope,
    beforePico: BigInt(row.before_pico),
    afterPico: BigInt(row.after_pico),
    pico: BigInt(row.pico),
    rows: Number(row.row_count),
    pricedCalls: BigInt(row.priced_calls),
  }))
}

/** What a credit stands under that is for no model in particular. */
const CREDIT_MODEL = '(adjustment)'

interface CreditOrder {
  readonly clientId: string
  readonly day: UtcDay
  /** `null`: for none in particular. */
  readonly model: string | null
  /** Below 0: in favour of the client. 1e-12 USD. */
  readonly pico: bigint
  readonly who: string
  readonly why: string
}

interface Credited {
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
