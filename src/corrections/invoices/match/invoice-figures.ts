import { picoToUsdNumber } from '../../../domain/pico-usd.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { selectRecentMatches } from './conditions.ts'

/** Invoices of the last months in US dollars, as metrics show them. */
export async function selectInvoiceFigures(pool: Postgres, nowMs: number) {
  return (await selectRecentMatches(pool, nowMs)).map((match) => ({
    ...{ provider: match.biller, month: match.month },
    invoiceUsd: picoToUsdNumber(match.invoicedPico),
    differenceUsd: picoToUsdNumber(match.invoicedPico - match.oursPico),
    unexplainedUsd: picoToUsdNumber(match.unexplainedPico),
  }))
}
