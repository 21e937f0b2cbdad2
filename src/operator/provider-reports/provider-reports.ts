import type { FastifyInstance } from 'fastify'
import { picoToUsdNumber, picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays } from '../../domain/utc-day.ts'
import type { Reports } from '../../store/replica/reports.ts'
import type { ReportGroup } from '../../usage/report/report-query.ts'
import type { SeriesRow } from '../../usage/report/select-report.ts'
import { stored } from '../admin-answers.ts'
import { type DayBuckets, type ReportNames, readBuckets } from './asked-days.ts'

export interface ProviderReportsOptions {
  readonly reports: Pick<Reports, 'read'>
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

/** Endpoints of OpenAI's usage report. Totals do not say at which of them calls were: all are completions. */
const OPENAI_USAGE = [
  'completions',
  'embeddings',
  'moderations',
  'images',
  'audio_speeches',
  'audio_transcriptions',
  'vector_stores',
  'code_interpreter_sessions',
  'decisions',
  'file_search_calls',
  'web_search_calls',
] as const

const OPENAI: ReportNames = {
  from: 'start_time',
  to: 'end_time',
  parse: (text) => (/^[0-9]{1,12}$/.test(text) ? Number(text) * 1_000 : null),
  groups: new Map<string, ReportGroup>([
    ['project_id', 'client'],
    ['api_key_id', 'key'],
    ['model', 'model'],
  ]),
  filters: new Map<string, ReportGroup>([
    ['project_ids', 'client'],
    ['api_key_ids', 'key'],
    ['models', 'model'],
  ]),
  ignored: [],
  mostDays: 31,
}
const OPENAI_COSTS: ReportNames = {
  ...OPENAI,
  groups: new Map<string, ReportGroup>([
    ['project_id', 'client'],
    ['api_key_id', 'key'],
    ['line_item', 'model'],
  ]),
  mostDays: 180,
}

const ANTHROPIC: ReportNames = {
  from: 'starting_at',
  to: 'ending_at',
  parse: (text) => {
    const ms = /^[0-9]{4}-[0-9]{2}-[0-9]{2}/.test(text) ? Date.parse(text) : Number.NaN
    return Number.isNaN(ms) ? null : ms
  },
  groups: new Map<string, ReportGroup>([
    ['workspace_id', 'client'],
    ['api_key_id', 'key'],
    ['model', 'model'],
  ]),
  filters: new Map<string, ReportGroup>([
    ['workspace_ids', 'client'],
    ['api_key_ids', 'key'],
    ['models', 'model'],
  ]),
  ignored: [],
  mostDays: 31,
}
const ANTHROPIC_COSTS: ReportNames = {
  ...ANTHROPIC,
  groups: new Map<string, ReportGroup>([
    ['workspace_id', 'client'],
    ['description', 'model'],
  ]),
  filters: new Map<string, ReportGroup>([['workspace_ids', 'client']]),
}

/** Anthropic's tools send the token in a header of their own. To be registered before the token is asked for. */
export function takeApiKey(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ headers }) => {
    const key = headers['x-api-key']
    if (typeof key === 'string') headers.authorization ??= `Bearer ${key}`
  })
}

/**
 * The reports on usage and cost of OpenAI's and Anthropic's admin APIs, for tools that speak them: our clients are their
 * projects and workspaces. Each of their buckets is a UTC day.
 */
export function providerReports(app: FastifyInstance, { reports, now }: ProviderReportsOptions): void {
  const serve = (path: string, names: ReportNames, render: (buckets: DayBuckets) => object) =>
    app.get(path, async (request) => {
      const query = request.query as Readonly<Record<string, unknown>>
      return render(await stored(readBuckets((work) => reports.read(work), query, names, now())))
    })
  for (const kind of OPENAI_USAGE)
    serve(`/v1/organization/usage/${kind}`, OPENAI, (buckets) =>
      openAiPage(buckets, (row, id) => (kind === 'completions' ? [openAiUsage(row, id)] : [])),
    )
  serve('/v1/organization/costs', OPENAI_COSTS, (buckets) =>
    openAiPage(buckets, ({ sums }, id) => [
      {
        object: 'organization.costs.result',
        amount: { value: picoToUsdNumber(sums.costPico), currency: 'usd' },
        line_item: id('line_item'),
        project_id: id('project_id'),
        api_key_id: id('api_key_id'),
      },
    ]),
  )
  serve('/v1/organizations/usage_report/messages', ANTHROPIC, (buckets) =>
    anthropicPage(buckets, ({ sums }, id) => ({
      uncached_input_tokens: Number(sums.inputTokens - sums.cacheReadTokens - sums.cacheWriteTokens),
      cache_creation: {
        // Totals do not say for how long.
        ephemeral_5m_input_tokens: Number(sums.cacheWriteTokens),
        ephemeral_1h_input_tokens: 0,
      },
      cache_read_input_tokens: Number(sums.cacheReadTokens),
      output_tokens: Number(sums.outputTokens),
      api_key_id: id('api_key_id'),
      workspace_id: id('workspace_id'),
      model: id('model'),
      service_tier: null,
      context_window: null,
    })),
  )
  serve('/v1/organizations/cost_report', ANTHROPIC_COSTS, (buckets) =>
    anthropicPage(buckets, ({ sums }, id) => ({
      currency: 'USD',
      // In cents, exact.
      amount: picoToUsdText(sums.costPico * 100n),
      workspace_id: id('workspace_id'),
      description: id('description'),
      cost_type: null,
      context_window: null,
      model: id('description'),
      service_tier: null,
      token_type: null,
    })),
  )
}

/** What a row is of, by the provider's name; `null`: rows are not apart by it. */
type IdOf = (name: string) => string | null

function idOf({ groups }: DayBuckets, { ids }: SeriesRow): IdOf {
  return (name) => ids[groups.indexOf(name)] ?? null
}

function openAiUsage({ sums }: SeriesRow, id: IdOf): object {
  return {
    object: 'organization.usage.completions.result',
    input_tokens: Number(sums.inputTokens),
    output_tokens: Number(sums.outputTokens),
    input_cached_tokens: Number(sums.cacheReadTokens),
    num_model_requests: Number(sums.requests),
    project_id: id('project_id'),
    user_id: null,
    api_key_id: id('api_key_id'),
    model: id('model'),
    batch: null,
    service_tier: null,
  }
}

function openAiPage(buckets: DayBuckets, render: (row: SeriesRow, id: IdOf) => readonly object[]): object {
  return {
    object: 'page',
    data: buckets.days.map(({ day, rows }) => ({
      object: 'bucket',
      start_time: Date.parse(day) / 1_000,
      end_time: Date.parse(addDays(day, 1)) / 1_000,
      results: rows.flatMap((row) => render(row, idOf(buckets, row))),
    })),
    has_more: buckets.next !== null,
    next_page: buckets.next,
  }
}

function anthropicPage(buckets: DayBuckets, render: (row: SeriesRow, id: IdOf) => object): object {
  return {
    data: buckets.days.map(({ day, rows }) => ({
      starting_at: `${day}T00:00:00Z`,
      ending_at: `${addDays(day, 1)}T00:00:00Z`,
      results: rows.map((row) => render(row, idOf(buckets, row))),
    })),
    has_more: buckets.next !== null,
    next_page: buckets.next,
  }
}
