import { z } from 'zod'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { ANTHROPIC_COSTS } from '../invoices/formats/maker-costs.ts'
import { fetchCostDays } from './cost-days.ts'
import { fetchPages, type Page, type ReportSource } from './fetch-pages.ts'
import type { ModelDay } from './report.ts'

export const ANTHROPIC_URL = 'https://api.anthropic.com'

export const ANTHROPIC_HEADERS = { 'anthropic-version': '2023-06-01' } as const
/** Most days in one page of either report. */
const PAGE_DAYS = '31'

const count = z.int().min(0)

function pageOf<Result extends z.ZodType>(result: Result) {
  return z.object({
    data: z.array(z.object({ starting_at: z.string().min(10), results: z.array(result) })),
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
    uncached_input_tokens: count,
    cache_read_input_tokens: count,
    cache_creation: z
      .object({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count })
      .nullish(),
    output_tokens: count,
  }),
)

/**
 * What Anthropic's usage and cost reports say of these UTC days, both included. They do not say how many
 * requests there were, and the cost report leaves out the priority tier.
 * https://platform.claude.com/docs/en/build-with-claude/usage-cost-api
 *
 * @throws {ReportError}
 */
export async function fetchAnthropicReport(
  baseUrl: string,
  adminKey: string,
  from: UtcDay,
  to: UtcDay,
): Promise<ModelDay[]> {
  const headers = { 'x-api-key': adminKey, ...ANTHROPIC_HEADERS }
  const source: ReportSource = { baseUrl, headers }
  const days = [
    ['starting_at', `${from}T00:00:00Z`],
    ['ending_at', `${addDays(to, 1)}T00:00:00Z`],
    ['bucket_width', '1d'],
    ['limit', PAGE_DAYS],
  ] as const
  const usage = await fetchPages(
    source,
    '/v1/organizations/usage_report/messages',
    [...days, ['group_by[]', 'model']],
    usagePage,
  )
  const costs = await fetchCostDays(
    source,
    '/v1/organizations/cost_report',
    [...days, ['group_by[]', 'description']],
    ANTHROPIC_COSTS,
  )
  return [...usageDays(usage), ...costs]
}

type BucketOf<Schema> = Schema extends z.ZodType<Page<infer Bucket>> ? Bucket : never

function usageDays(buckets: readonly BucketOf<typeof usagePage>[]): ModelDay[] {
  return buckets.flatMap(({ starting_at: start, results }) =>
    results.map((result) => ({
      day: start.slice(0, 10),
      model: result.model ?? '(none)',
      requests: null,
      inputTokens: BigInt(
        result.uncached_input_tokens +
          result.cache_read_input_tokens +
          (result.cache_creation?.ephemeral_5m_input_tokens ?? 0) +
          (result.cache_creation?.ephemeral_1h_input_tokens ?? 0),
      ),
      outputTokens: BigInt(result.output_tokens),
      costPico: null,
    })),
  )
}
