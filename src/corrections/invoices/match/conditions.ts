import { type Occurrence, withRepair } from '../../../domain/conditions/condition.ts'
import { type Finding, ok, warning } from '../../../domain/conditions/finding.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { utcDayOf } from '../../../domain/utc-day.ts'
import type { Condition } from '../../../store/conditions/condition.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { isTooMuch, MOST_UNEXPLAINED } from './differences.ts'
import { type InvoiceMatch, type InvoiceState, recentSince, selectMatches } from './matches-table.ts'

const NAME = 'invoices'
const PERCENT = Number(MOST_UNEXPLAINED.thousandths) / 10

/** Why an invoice is not settled with what we counted, and what to do; `null`: it is. */
export function invoiceTrouble({
  biller,
  month,
  match,
}: InvoiceState): { what: string; mend: string } | null {
  const mend = `tallygate reconcile --provider ${biller} --month ${month}`
  if (match === null)
    return { what: `the invoice of ${biller} for ${month} is not compared with totals yet`, mend }
  if (!isTooMuch(match)) return null
  const { unexplainedPico, invoicedPico } = match
  const usd = picoToUsdText(unexplainedPico)
  return {
    what: `${usd} USD of ${picoToUsdText(invoicedPico)} on the invoice of ${biller} for ${month} are unexplained`,
    mend,
  }
}

/** Of the last months. */
export async function selectRecentMatches(pool: Postgres, nowMs: number): Promise<readonly InvoiceMatch[]> {
  return await selectMatches(pool, recentSince(utcDayOf(nowMs)).slice(0, 7))
}

async function checkInvoices(pool: Postgres, nowMs: number): Promise<readonly Finding[]> {
  return (await selectRecentMatches(pool, nowMs)).map((match) => {
    const trouble = invoiceTrouble({ ...match, match })
    return trouble === null
      ? ok(NAME, `the invoice of ${match.biller} for ${match.month} is explained`)
      : warning(NAME, trouble.what, trouble.mend)
  })
}

async function findUnexplained(pool: Postgres, nowMs: number): Promise<readonly Occurrence[]> {
  return (await selectRecentMatches(pool, nowMs)).flatMap((match) => {
    const { biller, month, invoicedPico, unexplainedPico } = match
    const trouble = invoiceTrouble({ ...match, match })
    if (trouble === null) return []
    return [
      {
        ...{ subject: `${biller} ${month}`, period: `${month}-01` },
        payload: {
          message: withRepair(trouble.what, trouble.mend),
          ...{ provider: biller, month, invoice_usd: picoToUsdText(invoicedPico) },
          unexplained_usd: picoToUsdText(unexplainedPico),
        },
      },
    ]
  })
}

export const INVOICES: Condition<{ readonly pool: Postgres; readonly nowMs: number }> = {
  name: NAME,
  place: 'postgres',
  severity: 'note',
  threshold: { value: PERCENT, unit: '%' },
  find: ({ pool, nowMs }) => checkInvoices(pool, nowMs),
  event: 'invoices.unexplained',
  alert: {
    kind: 'invoice',
    meaning: "a provider's invoice differs from what was counted, and nothing explains it",
    ofClient: false,
    when: 'each minute',
    finders: [({ pool, nowMs }) => findUnexplained(pool, nowMs)],
  },
  rules: [
    {
      name: 'InvoiceUnexplained',
      expr: `tallygate_invoice_unexplained_usd > clamp_min(${PERCENT / 100} * tallygate_invoice_usd, 1)`,
      severity: 'ticket',
      summary:
        "A provider's invoice differs from what was counted: `tallygate reconcile --month` says by what.",
    },
  ],
}
