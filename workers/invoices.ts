import type { AdminKeys } from '../src/config/config.ts'
import { COST_REPORTERS, type CostReporter } from '../src/corrections/invoices/cost-reports.ts'
import { fetchInvoice } from '../src/corrections/invoices/fetch-costs.ts'
import { InvoiceRefused } from '../src/corrections/invoices/import-invoice.ts'
import { matchInvoices, recentSince } from '../src/corrections/invoices/match/matches-table.ts'
import { ReportError } from '../src/corrections/reconcile/fetch-pages.ts'
import { addDays, type UtcDay } from '../src/domain/utc-day.ts'
import type { Logger } from '../src/lib/logger.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'
import { TryAgain } from './queue.ts'

/** Providers correct their reports for some weeks. */
const FETCHED_DAYS = 35

export interface InvoicesJob {
  readonly pool: Postgres
  readonly adminKeys: AdminKeys
  /** In place of the providers' own. */
  readonly baseUrls?: Partial<Record<CostReporter, string>>
  readonly today: UtcDay
  readonly log: Logger
  /** Whether it was tried before: a provider that is still away is not logged again. */
  readonly isRepeat: boolean
}

/**
 * Takes the reports of costs that there is an admin key for, up to yesterday, and holds the invoices of the last months
 * against totals. Doing it twice changes nothing.
 *
 * @throws {TryAgain} A provider is away, or refuses.
 */
export async function takeInvoices(job: InvoicesJob): Promise<void> {
  const { pool, adminKeys, baseUrls = {}, today, log, isRepeat } = job
  const problems: string[] = []
  const to = addDays(today, -1)
  for (const reporter of COST_REPORTERS) {
    const adminKey = adminKeys[reporter]
    if (adminKey === null) continue
    const order = { reporter, adminKey, baseUrl: baseUrls[reporter], from: addDays(to, 1 - FETCHED_DAYS), to }
    try {
      const { id, rows } = await fetchInvoice(pool, order)
      log.info({ event: 'invoices.taken', provider: reporter, import: id, rows }, 'costs were fetched')
    } catch (error) {
      if (!(error instanceof ReportError || error instanceof InvoiceRefused)) throw error
      if (!isRepeat)
        log.warn(
          { event: 'invoices.not_fetched', provider: reporter, problem: error.message },
          'costs could not be fetched: tried again later',
        )
      problems.push(error.message)
    }
  }
  await matchInvoices(pool, recentSince(today))
  if (problems.length > 0) throw new TryAgain(problems.join('; '))
}
