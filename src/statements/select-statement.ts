import { TOKEN_COLUMNS, UNIT_COLUMNS } from '../call/usage.ts'
import { daysOfMonth, type UtcMonth } from '../domain/utc-month.ts'
import { clientsBelow } from '../keys/groups/group-spans.ts'
import type { Price } from '../pricing/price.ts'
import { rateShownAs } from '../pricing/shown-prices.ts'
import { inSnapshot, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { costLinesOf } from '../usage/cost-lines.ts'
import { sumsFrom } from '../usage/daily-row.ts'
import { selectPrices } from '../usage/price-definitions.ts'
import { selectOpenCharges } from './select-charges.ts'
import type {
  Statement,
  StatementCarry,
  StatementCorrection,
  StatementLine,
  UnpricedCalls,
} from './statement.ts'

const SUMMED = [
  ...['requests', 'settlements', 'unpriced', 'priced_later', 'cost_pico'],
  ...TOKEN_COLUMNS,
  ...UNIT_COLUMNS,
]

/** What a statement is about: a client, or what clients used on the days that they were in a group or below it. */
export type StatementOf = 'client' | 'group'

/** Keeps of rows `u` those of the client or group `$1`, in SQL. */
const SCOPES: Readonly<Record<StatementOf, string>> = {
  client: 'where u.client_id = $1',
  group: `join (${clientsBelow('$1')}) m on m.client_id = u.client_id and u.day between m.from_day and m.to_day
    where true`,
}

const selectUse = (of: StatementOf) => `
select model, upstream, price_id, ${SUMMED.map((column) => `coalesce(sum(${column}), 0)::text as ${column}`).join(', ')}
from ${SCHEMA}.daily_usage u ${SCOPES[of]} and u.day between $2 and $3
group by model, upstream, price_id order by model, upstream, price_id`

const selectCorrected = (of: StatementOf) => `
select a.id, a.kind, a.at, a.why, sum(u.pico)::text as pico
from ${SCHEMA}.adjustment_entries u join ${SCHEMA}.adjustments a on a.id = u.adjustment_id
${SCOPES[of]} and u.day between $2 and $3
group by a.id having sum(u.pico) <> 0 order by a.id`

/** The last month that is closed, and the first behind it that has usage or charges. */
const SELECT_MONTHS = `
select last, to_char(least(
  (select min(day) from ${SCHEMA}.daily_usage where client_id = $1 and day >= since),
  (select min(from_day) from ${SCHEMA}.charges where client_id = $1 and removed_at is null and from_day >= since)),
  'YYYY-MM') as open
from (
  select max(month) as last, coalesce(to_date(max(month), 'YYYY-MM') + interval '1 month', '-infinity') as since
  from ${SCHEMA}.statements where client_id = $1) closed`

/** By closed month: what its calls cost now, less what was stated for it, in its statement and in later ones. */
const SELECT_CARRIED = `
with stated as (
  select month, sum(pico) as pico from (
    select month, cost_pico as pico from ${SCHEMA}.statements where client_id = $1
    union all
    select c.month, c.pico from ${SCHEMA}.statements s,
      jsonb_to_recordset(s.carried) as c (month text, pico numeric) where s.client_id = $1) parts
  group by month),
spent as (
  select to_char(date_trunc('month', day), 'YYYY-MM') as month, sum(cost_pico + adjusted_pico) as pico
  from ${SCHEMA}.daily_usage where client_id = $1 and day <= $2
  group by date_trunc('month', day))
select month, (coalesce(spent.pico, 0) - stated.pico)::text as pico
from stated left join spent using (month)
where coalesce(spent.pico, 0) <> stated.pico order by month`

/** In one snapshot, so that lines, corrections and totals are of one moment. */
export async function selectStatement(
  pool: Postgres,
  client: { readonly id: string; readonly name: string },
  month: UtcMonth,
): Promise<Statement> {
  return await inSnapshot(pool, (session) => readStatement(session, client, month))
}

/** The same within a transaction that goes on, which has to have one snapshot. */
export async function readStatement(
  session: PostgresSession,
  client: { readonly id: string; readonly name: string },
  month: UtcMonth,
): Promise<Statement> {
  const stated = await readStated(session, 'client', client.id, month)
  const { last, open } = await selectClosedMonths(session, client.id)
  const isOver = last !== null && month <= last
  const isNext = !isOver && (open === null || open >= month)
  const carried = last !== null && isNext ? await selectCarried(session, client.id, last) : []
  const charges = isOver ? [] : await selectOpenCharges(session, client.id, month, isNext)
  const chargesPico = charges.reduce((sum, { amountPico }) => sum + amountPico, 0n)
  return {
    ...stated,
    clientId: client.id,
    client: client.name,
    month,
    carried,
    charges,
    chargesPico,
    totalPico: carried.reduce((sum, { amountPico }) => sum + amountPico, stated.costPico + chargesPico),
  }
}

/** What was used in a month, line by line. */
export type Stated = Pick<Statement, 'requests' | 'lines' | 'corrections' | 'unpriced' | 'costPico'>

/** @param id Of the client or group. */
export async function readStated(
  session: PostgresSession,
  of: StatementOf,
  id: string,
  month: UtcMonth,
): Promise<Stated> {
  const { from, to } = daysOfMonth(month)
  const { rows } = await session.query<Readonly<Record<string, string>>>(selectUse(of), [id, from, to])
  const prices = await selectPrices(session, new Set(rows.map((row) => row.price_id ?? '')))
  const corrections = await selectCorrections(session, of, [id, from, to])
  const lines: StatementLine[] = []
  let costPico = 0n
  for (const row of rows) {
    const { model = '', upstream = '', price_id: priceId = '', cost_pico: cost = '0' } = row
    const price = prices.get(priceId) ?? null
    costPico += BigInt(cost)
    for (const line of costLinesOf(BigInt(cost), sumsFrom(row), price))
      lines.push({ model, upstream, priceId, price, ...line })
  }
  for (const { amountPico } of corrections) costPico += amountPico
  return {
    requests: rows.reduce((sum, { requests = '0' }) => sum + BigInt(requests), 0n),
    lines,
    corrections,
    unpriced: rows.flatMap((row) => unpricedOf(row, prices.get(row.price_id ?? '') ?? null)),
    costPico,
  }
}

/** Calls of a row without a cost, and those whose price lacks something that they used. */
function unpricedOf(row: Readonly<Record<string, string>>, price: Price | null): UnpricedCalls[] {
  const { model = '', upstream = '', requests = '0', unpriced = '0', priced_later: pricedLater = '0' } = row
  const without = BigInt(unpriced) - BigInt(pricedLater)
  const { unpriced: lacking = [] } = price?.definition.basis === 'linear' ? price.definition : {}
  const classes = lacking.map((rate) => rateShownAs(rate).name)
  const parted = classes.length > 0 ? BigInt(requests) - BigInt(unpriced) : 0n
  return [
    ...(without > 0n ? [{ model, upstream, calls: without, classes: [] }] : []),
    ...(parted > 0n ? [{ model, upstream, calls: parted, classes }] : []),
  ]
}

async function selectCorrections(
  session: PostgresSession,
  of: StatementOf,
  scope: readonly string[],
): Promise<readonly StatementCorrection[]> {
  const { rows } = await session.query<{ id: string; kind: string; at: Date; why: string; pico: string }>(
    selectCorrected(of),
    [...scope],
  )
  return rows.map(({ pico, ...row }) => ({ ...row, amountPico: BigInt(pico) }))
}

/** Which months of a client are closed: `null` where there is none. */
export interface ClosedMonths {
  readonly last: UtcMonth | null
  /** The first month with usage or charges behind it. */
  readonly open: UtcMonth | null
}

export async function selectClosedMonths(session: PostgresSession, clientId: string): Promise<ClosedMonths> {
  const { rows } = await session.query<ClosedMonths>(SELECT_MONTHS, [clientId])
  return rows[0] ?? { last: null, open: null }
}

/** A month that may be closed next has what came to closed ones since, also behind months without usage. */
async function selectCarried(
  session: PostgresSession,
  clientId: string,
  last: UtcMonth,
): Promise<readonly StatementCarry[]> {
  const { rows } = await session.query<{ month: UtcMonth; pico: string }>(SELECT_CARRIED, [
    clientId,
    daysOfMonth(last).to,
  ])
  return rows.map((row) => ({ month: row.month, amountPico: BigInt(row.pico) }))
}
