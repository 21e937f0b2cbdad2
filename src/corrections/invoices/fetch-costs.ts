import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { NO_PROGRESS } from '../../operations/ports.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { ANTHROPIC_HEADERS, ANTHROPIC_URL } from '../reconcile/anthropic.ts'
import { COST_PAGE } from '../reconcile/cost-days.ts'
import { fetchPages, type ReportSource } from '../reconcile/fetch-pages.ts'
import { OPENAI_URL, secondsOf } from '../reconcile/openai.ts'
import type { CostReporter } from './cost-reports.ts'
import type { InvoiceFormat } from './formats/format.ts'
import { ANTHROPIC_COSTS, OPENAI_COSTS } from './formats/maker-costs.ts'
import { type ImportedInvoice, importInvoice } from './import-invoice.ts'

type Query = readonly (readonly [string, string])[]

interface CostReport {
  readonly format: InvoiceFormat
  readonly url: string
  readonly path: string
  readonly headers: (adminKey: string) => ReportSource['headers']
  readonly query: (from: UtcDay, to: UtcDay) => Query
}

const REPORTS = {
  openai: {
    format: OPENAI_COSTS,
    url: OPENAI_URL,
    path: '/v1/organization/costs',
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    query: (from, to) => [
      ['start_time', `${secondsOf(from)}`],
      ['end_time', `${secondsOf(addDays(to, 1))}`],
      ...([
        ['bucket_width', '1d'],
        ['limit', '180'],
      ] as const),
      ...([
        ['group_by', 'line_item'],
        ['group_by', 'project_id'],
      ] as const),
    ],
  },
  anthropic: {
    format: ANTHROPIC_COSTS,
    url: ANTHROPIC_URL,
    path: '/v1/organizations/cost_report',
    headers: (key) => ({ 'x-api-key': key, ...ANTHROPIC_HEADERS }),
    query: (from, to) => [
      ['starting_at', `${from}T00:00:00Z`],
      ['ending_at', `${addDays(to, 1)}T00:00:00Z`],
      ...([
        ['bucket_width', '1d'],
        ['limit', '31'],
      ] as const),
      ...([
        ['group_by[]', 'description'],
        ['group_by[]', 'workspace_id'],
        ['group_by[]', 'inference_geo'],
      ] as const),
    ],
  },
} as const satisfies Readonly<Record<CostReporter, CostReport>>

export interface FetchOrder {
  readonly reporter: CostReporter
  readonly adminKey: string
  /** In place of the provider's own. */
  readonly baseUrl?: string | undefined
  /** UTC days, both included. */
  readonly from: UtcDay
  readonly to: UtcDay
}

/**
 * Takes a provider's own report of costs, in place of what was taken of these days before: providers correct them.
 *
 * @throws {ReportError} The provider refuses, or does not answer.
 * @throws {InvoiceRefused} What it answers is not such a report.
 */
export async function fetchInvoice(
  pool: Postgres,
  { reporter, adminKey, baseUrl, from, to }: FetchOrder,
  progress = NO_PROGRESS,
): Promise<ImportedInvoice> {
  const { format, url, path, headers, query }: CostReport = REPORTS[reporter]
  const source = { baseUrl: (baseUrl ?? url).replace(/\/+$/, ''), headers: headers(adminKey) }
  const buckets = await fetchPages(source, path, query(from, to), COST_PAGE)
  return await importInvoice(
    pool,
    {
      text: buckets.map((bucket) => JSON.stringify(bucket)).join('\n'),
      ...{ format, source: null, origin: `${source.baseUrl}${path}`, days: { from, to } },
      ...{ rates: new Map(), biller: null, asCharges: null, isDry: false },
    },
    progress,
  )
}
