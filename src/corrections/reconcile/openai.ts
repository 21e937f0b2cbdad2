import { z } from 'zod'
import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { OPENAI_COSTS } from '../invoices/formats/maker-costs.ts'
import { fetchCostDays } from './cost-days.ts'
import { fetchPages, type Page, type ReportSource } from './fetch-pages.ts'
import type { ModelDay } from './report.ts'

export const OPENAI_URL = 'https://api.openai.com'

/** Endpoints of the usage report that have tokens; each of their buckets is a UTC day. */
const TOKEN_REPORTS = ['completions', 'embeddings', 'moderations'] as const
/** Most days in one page of the usage report, and of the costs report. */
const USAGE_PAGE_DAYS = '31'
const COSTS_PAGE_DAYS = '180'

const count = z.int().min(0)

function pageOf<Result extends z.ZodType>(result: Result) {
  return z.object({
    data: z.array(z.object({ start_time: z.int(), results: z.array(result) })),
    has_more: z.boolean(),
    next_page: z
      .string()
      .nullish()
      .transform((page) => page ?? null),
  })
}

const usagePage = pageOf(
  z.object({
    model: z.string().nullish(),
    input_tokens: count,
    output_tokens: count.default(0),
    num_model_requests: count,
  }),
)

/**
 * What OpenAI's organization usage and costs reports say of these UTC days, both included.
 * https://platform.openai.com/docs/api-reference/usage
 *
 * @throws {ReportError}
 */
export async function fetchOpenAiReport(
  baseUrl: string,
  adminKey: string,
  from: UtcDay,
  to: UtcDay,
): Promise<ModelDay[]> {
  const source: ReportSource = { baseUrl, headers: { authorization: `Bearer ${adminKey}` } }
  const days = [
    ['start_time', `${secondsOf(from)}`],
    ['end_time', `${secondsOf(addDays(to, 1))}`],
    ['bucket_width', '1d'],
  ] as const
  const reports: ModelDay[][] = []
  for (const report of TOKEN_REPORTS) {
    const query = [...days, ['group_by', 'model'], ['limit', USAGE_PAGE_DAYS]] as const
    reports.push(usageDays(await fetchPages(source, `/v1/organization/usage/${report}`, query, usagePage)))
  }
  const query = [...days, ['group_by', 'line_item'], ['limit', COSTS_PAGE_DAYS]] as const
  reports.push(await fetchCostDays(source, '/v1/organization/costs', query, OPENAI_COSTS, modelOf))
  return reports.flat()
}

type BucketOf<Schema> = Schema extends z.ZodType<Page<infer Bucket>> ? Bucket : never

function usageDays(buckets: readonly BucketOf<typeof usagePage>[]): ModelDay[] {
  return buckets.flatMap(({ start_time: start, results }) =>
    results.map((result) => ({
      day: utcDayOf(start * 1000),
      model: result.model ?? '(none)',
      requests: BigInt(result.num_model_requests),
      inputTokens: BigInt(result.input_tokens),
      outputTokens: BigInt(result.output_tokens),
      costPico: null,
    })),
  )
}

/** Line items of models are written `gpt-4o-2024-08-06, cached input`; others have names of their own. */
function modelOf(lineItem: string): string {
  const comma = lineItem.indexOf(', ')
  return comma < 0 ? lineItem : lineItem.slice(0, comma)
}

/** The midnight that a UTC day begins with, in seconds since 1970. */
export function secondsOf(day: UtcDay): number {
  return Date.parse(`${day}T00:00:00Z`) / 1000
}
