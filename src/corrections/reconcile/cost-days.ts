import { z } from 'zod'
import type { InvoiceFormat } from '../invoices/formats/format.ts'
import { BadRow } from '../invoices/invoice-row.ts'
import { recordsIn } from '../invoices/read-records.ts'
import { fetchPages, ReportError, type ReportSource } from './fetch-pages.ts'
import type { ModelDay } from './report.ts'

/** A page of either report of costs. What is in its results, the format knows. */
export const COST_PAGE = z.object({
  data: z.array(z.looseObject({ results: z.array(z.looseObject({})) })),
  has_more: z.boolean(),
  next_page: z
    .string()
    .nullish()
    .transform((page) => page ?? null),
})

/**
 * What a report of costs says of days and models.
 *
 * @param modelOf The name of the model in what a row is for.
 * @throws {ReportError}
 */
export async function fetchCostDays(
  source: ReportSource,
  path: string,
  query: readonly (readonly [string, string])[],
  { rowOf }: InvoiceFormat,
  modelOf = (service: string) => service,
): Promise<ModelDay[]> {
  const buckets = await fetchPages(source, path, query, COST_PAGE)
  try {
    return recordsIn(buckets, 1).flatMap(({ cells }) =>
      [rowOf(cells, { rates: new Map(), biller: null }) ?? []].flat().map(({ day, service, amountPico }) => {
        const nothing = { requests: null, inputTokens: null, outputTokens: null }
        return { day, model: modelOf(service), ...nothing, costPico: amountPico }
      }),
    )
  } catch (error) {
    throw error instanceof BadRow ? new ReportError(`${path}: ${error.message}`) : error
  }
}
