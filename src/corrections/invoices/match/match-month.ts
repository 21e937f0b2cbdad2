import { addDays, type UtcDay } from '../../../domain/utc-day.ts'
import { daysOfMonth, type UtcMonth } from '../../../domain/utc-month.ts'
import { inSnapshot, type Postgres, type PostgresSession } from '../../../store/connection/postgres.ts'
import { SCHEMA } from '../../../store/connection/schema.ts'
import { selectCallDays } from '../../../usage/calls/call-partitions.ts'
import { type ModelDay, type ReconciledDay, reconcile } from '../../reconcile/report.ts'
import { chargeNameOf } from '../charge-invoice.ts'
import type { Biller } from '../invoice-row.ts'
import { modelIn } from '../invoice-words.ts'
import {
  type InvoicedUse,
  selectImports,
  selectInvoiceCharges,
  selectInvoicedMonths,
  selectInvoicedUse,
} from '../invoices-table.ts'
import { type DifferenceSum, sumDifferences, unexplainedIn } from './differences.ts'
import { explainInvoice } from './explain-invoice.ts'
import { type OwnUse, selectOwnUse } from './own-use.ts'

/** An invoice of a month, held against what we counted of the days that it covers. */
export interface MatchedMonth {
  readonly biller: Biller
  readonly month: UtcMonth
  /** The imports that it is from, in the order of their ids. */
  readonly imports: readonly string[]
  /** The first and last day that an import covers. */
  readonly from: UtcDay
  readonly to: UtcDay
  /** 1e-12 USD, by contracts, with what is charged of it beside calls. */
  readonly oursPico: bigint
  readonly invoicedPico: bigint
  readonly differences: readonly DifferenceSum[]
  /** Without signs. */
  readonly unexplainedPico: bigint
  /** Both sides of use by day and model, as the report of a provider has them. */
  readonly rows: readonly ReconciledDay[]
}

/** `null`: no import covers a day of the month. */
export async function matchMonth(
  pool: Postgres,
  biller: Biller,
  month: UtcMonth,
): Promise<MatchedMonth | null> {
  return await inSnapshot(pool, async (session) => {
    const { from, to } = daysOfMonth(month)
    const imports = (await selectImports(session)).filter(({ billers }) => billers.includes(biller))
    const isCovered = (day: UtcDay) => imports.some((one) => one.from <= day && day <= one.to)
    const isOfMonth = (day: UtcDay) => from <= day && day <= to
    // What moved over midnight at its edges is on the days beside it.
    const period = { from: addDays(from, -1), to: addDays(to, 1) }
    const invoiced = await selectInvoicedUse(session, { biller, ...period })
    const own = await selectOwnUse(session, biller, { fromDay: period.from, toDay: period.to })
    const ours = own.filter(({ day }) => isCovered(day))
    const found = await selectInvoiceCharges(session, { biller, from, to })
    const charged = await selectCharged(
      session,
      found.map((one) => chargeNameOf(one.source, one)),
    )
    const charges = found.map((one) => ({
      ...one,
      chargedPico: charged.get(chargeNameOf(one.source, one)) ?? null,
    }))
    const days = Array.from({ length: Number(to.slice(8)) }, (_, index) => addDays(from, index))
    const covered = days.filter(isCovered)
    const [first, last] = [covered[0], covered.at(-1)]
    if (first === undefined || last === undefined) return null
    const dayOfResponse = await findResponses(session, invoiced)
    const differences = sumDifferences(
      explainInvoice({ biller, invoiced, ours, charges, dayOfResponse }).filter(({ day }) => isOfMonth(day)),
    )
    const sumOf = (amounts: readonly bigint[]) => amounts.reduce((sum, pico) => sum + pico, 0n)
    const use = (rows: readonly { readonly day: UtcDay; readonly amountPico: bigint }[]) =>
      sumOf(rows.flatMap(({ day, amountPico }) => (isOfMonth(day) ? [amountPico] : [])))
    return {
      ...{ biller, month, from: first, to: last, differences },
      imports: await importsOf(session, biller, month),
      oursPico: use(ours) + sumOf(charges.map(({ chargedPico }) => chargedPico ?? 0n)),
      invoicedPico: use(invoiced) + sumOf(charges.map(({ amountPico }) => amountPico)),
      unexplainedPico: unexplainedIn(differences),
      rows: reconcile(
        modelDays(invoiced, isOfMonth, [...new Set(ours.map(({ model }) => model))]),
        modelDays(ours, isOfMonth),
      ),
    }
  })
}

async function importsOf(
  session: PostgresSession,
  biller: Biller,
  month: UtcMonth,
): Promise<readonly string[]> {
  const months = await selectInvoicedMonths(session, month)
  return months.find((one) => one.biller === biller && one.month === month)?.imports ?? []
}

function modelDays(
  use: readonly (InvoicedUse | OwnUse)[],
  isWanted: (day: UtcDay) => boolean,
  models: readonly string[] = [],
): ModelDay[] {
  return use.flatMap((one) => {
    if (!isWanted(one.day)) return []
    const model = 'model' in one ? one.model : (modelIn(one.service, models) ?? one.service)
    const nothing = { requests: null, inputTokens: null, outputTokens: null }
    return [{ day: one.day, model, ...nothing, costPico: one.amountPico }]
  })
}

async function selectCharged(
  session: PostgresSession,
  names: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await session.query<{ readonly name: string; readonly pico: string }>(
    `select name, amount_pico::text as pico from ${SCHEMA}.charges where removed_at is null and name = any($1)`,
    [[...names]],
  )
  return new Map(rows.map(({ name, pico }) => [name, BigInt(pico)]))
}

/** Where calls of a day and of the days beside it are kept, an id that none of them has is of no call of ours. */
async function findResponses(session: PostgresSession, invoiced: readonly InvoicedUse[]) {
  const ids = new Set(invoiced.flatMap(({ responseId }) => responseId ?? []))
  const days = [
    ...new Set(invoiced.flatMap(({ day, responseId }) => (responseId === null ? [] : [day]))),
  ].sort()
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return () => null
  const { rows } = await session.query<{ readonly response_id: string; readonly day: UtcDay }>(
    `select response_id, day from ${SCHEMA}.calls where day between $1 and $2 and response_id = any($3)`,
    [addDays(first, -1), addDays(last, 1), [...ids]],
  )
  const dayOf = new Map(rows.map(({ response_id: id, day }) => [id, day]))
  const kept = new Set(await selectCallDays(session))
  return ({ responseId, day }: InvoicedUse): UtcDay | 'none' | null => {
    const found = dayOf.get(responseId ?? '')
    if (found !== undefined) return found
    return [-1, 0, 1].every((step) => kept.has(addDays(day, step))) ? 'none' : null
  }
}
