import { type Command, InvalidArgumentError, Option } from 'commander'
import { ANTHROPIC_URL, fetchAnthropicReport } from '../../corrections/reconcile/anthropic.ts'
import { ReportError } from '../../corrections/reconcile/fetch-pages.ts'
import { fetchOpenAiReport, OPENAI_URL } from '../../corrections/reconcile/openai.ts'
import {
  addFigures,
  differenceOf,
  type Figures,
  type ModelDay,
  type ReconciledDay,
  reconcile,
} from '../../corrections/reconcile/report.ts'
import { Failure } from '../../operations/failure.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { renderTable } from '../../operations/table.ts'
import { selectModelDays } from '../../usage/reconciled-use.ts'
import { parseDays } from '../arguments.ts'
import type { Cli } from '../cli.ts'

interface Provider {
  readonly keyName: string
  readonly url: string
  readonly fetchReport: (baseUrl: string, adminKey: string, from: UtcDay, to: UtcDay) => Promise<ModelDay[]>
}

const PROVIDERS = {
  openai: { keyName: 'OPENAI_ADMIN_KEY', url: OPENAI_URL, fetchReport: fetchOpenAiReport },
  anthropic: { keyName: 'ANTHROPIC_ADMIN_KEY', url: ANTHROPIC_URL, fetchReport: fetchAnthropicReport },
} as const satisfies Record<string, Provider>
type ProviderName = keyof typeof PROVIDERS

/** `reconcile`: a provider's own usage and cost report beside our figures, day by day and model by model. */
export function addReconcileCommand(program: Command, cli: Cli): void {
  program
    .command('reconcile')
    .description("hold our figures against the provider's own report")
    .addOption(
      new Option('--provider <name>', 'whose report').choices(Object.keys(PROVIDERS)).makeOptionMandatory(),
    )
    .option('--days <n>', 'UTC days, today and those before', parseDays, 7)
    .option('--upstream <name>', 'only what went by this upstream of ours')
    .option('--base-url <url>', 'where the report is asked for', parseUrl)
    .action(async ({ provider, days, upstream, baseUrl }: ReconcileOptions) => {
      const { keyName, url, fetchReport } = PROVIDERS[provider]
      const adminKey = cli.env[keyName]
      if (!adminKey) throw new Failure(`${keyName} is not set: an admin key of the organization`)
      const to = utcDayOf(Date.now())
      const from = addDays(to, 1 - days)
      const query = { provider, upstream: upstream ?? null, from, to }
      const ours = await cli.withServers(async ({ reports }) => selectModelDays(await reports(), query))
      const theirs = await fetchReport(baseUrl ?? url, adminKey, from, to).catch((error: unknown) => {
        throw error instanceof ReportError ? new Failure(error.message) : error
      })
      const rows = reconcile(theirs, ours)
      cli.print(document(provider, from, to, rows), text(rows, from, to))
    })
}

interface ReconcileOptions {
  readonly provider: ProviderName
  readonly days: number
  readonly upstream?: string
  readonly baseUrl?: string
}

function parseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:\/\//.test(text)) return text.replace(/\/+$/, '')
  throw new InvalidArgumentError('Write a URL such as https://api.openai.com.')
}

function document(provider: ProviderName, from: UtcDay, to: UtcDay, rows: readonly ReconciledDay[]) {
  return {
    provider,
    from,
    to,
    rows: rows.map((row) => ({
      day: row.day,
      model: row.model,
      theirs: figures(row.theirs),
      ours: figures(row.ours),
      difference: figures(differenceOf(row)),
    })),
    total: {
      theirs: figures(sum(rows.flatMap(({ theirs }) => theirs ?? []))),
      ours: figures(sum(rows.flatMap(({ ours }) => ours ?? []))),
      difference: figures(sum(rows.map(differenceOf))),
    },
  }
}

function sum(all: readonly Figures[]): Figures | null {
  return all.length === 0 ? null : all.reduce(addFigures)
}

function figures(side: Figures | null) {
  if (side === null) return null
  return {
    requests: numberOf(side.requests),
    input_tokens: numberOf(side.inputTokens),
    output_tokens: numberOf(side.outputTokens),
    cost_usd: side.costPico === null ? null : picoToUsdText(side.costPico),
  }
}

function numberOf(count: bigint | null): number | null {
  return count === null ? null : Number(count)
}

const COLUMNS = [
  ['REQUESTS', ({ requests }) => countText(requests)],
  ['INPUT', ({ inputTokens }) => countText(inputTokens)],
  ['OUTPUT', ({ outputTokens }) => countText(outputTokens)],
  ['COST USD', ({ costPico }) => (costPico === null ? '?' : picoToUsdText(costPico))],
] as const satisfies readonly (readonly [string, (side: Figures) => string])[]

/** Three lines for each day and model: theirs, ours, and ours less theirs. */
function text(rows: readonly ReconciledDay[], from: UtcDay, to: UtcDay): string {
  if (rows.length === 0) return `Neither side knows of any usage from ${from} to ${to}.`
  const table = renderTable(
    [
      { heading: 'DAY' },
      { heading: 'MODEL' },
      { heading: '' },
      ...COLUMNS.map(([heading]) => ({ heading, align: 'right' as const })),
    ],
    rows.flatMap((row) => [
      [row.day, row.model, 'theirs', ...cells(row.theirs)],
      ['', '', 'ours', ...cells(row.ours)],
      ['', '', 'difference', ...cells(differenceOf(row))],
    ]),
  )
  return `${table}\n\nToday is not over, and reports come late: its figures differ until they have.`
}

function cells(side: Figures | null): string[] {
  return COLUMNS.map(([, cell]) => (side === null ? '-' : cell(side)))
}

function countText(count: bigint | null): string {
  return count === null ? '?' : `${count}`
}
