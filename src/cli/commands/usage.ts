import { type Command, InvalidArgumentError, Option } from 'commander'
import { Failure } from '../../doctor/failure.ts'
import { UNKNOWN_MODEL } from '../../domain/model-name.ts'
import { DEFAULT_PERIOD_DAYS, periodOf } from '../../domain/period.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { findClient } from '../../keys/clients.ts'
import { printable, renderTable } from '../../operations/table.ts'
import type { UsageGroup } from '../../usage/dimensions.ts'
import { answerOperator, groupName } from '../../usage/query/answer-usage.ts'
import type { UsageRow } from '../../usage/query/select-usage.ts'
import { type RequestedName, selectRequestedNames } from '../../usage/query/select-usage.ts'
import { renderSummary } from '../../usage/query/usage-figures.ts'
import {
  parseUsageCursor,
  USAGE_SORTS,
  type UsagePage,
  type UsageSort,
} from '../../usage/query/usage-page.ts'
import { parseUsageGroups, USAGE_GROUPS } from '../../usage/query/usage-query.ts'
import { parseDays, parseListLimit } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { sayNext } from '../list-part.ts'

/** `usage`: usage and cost, as `GET /v1/usage` reports them. */
export function addUsageCommand(program: Command, cli: Cli): void {
  program
    .command('usage')
    .description('what was used and what it cost')
    .option('--client <name>', 'of this client alone')
    .option('--days <n>', 'UTC days, today and those before', parseDays, DEFAULT_PERIOD_DAYS)
    .option(
      '--by, --group-by <groups>',
      `break down by ${USAGE_GROUPS.join(', ')}; several parted by commas`,
      parseGroups,
      [],
    )
    .option('--limit <n>', 'with --by: so many at most, those with most of --sort', parseListLimit)
    .addOption(new Option('--sort <figure>', 'with --limit').choices(USAGE_SORTS).default('cost'))
    .option('--cursor <text>', 'with --limit: those behind the ones shown before')
    .action(async (options: UsageOptions) => {
      const { client: name = null, days, groupBy: by } = options
      const page = pageOf(options)
      const { rows, document, names, next } = await cli.withServers(async ({ reports }) => {
        const pool = await reports()
        const client = name === null ? null : await findClient(pool, name)
        if (name !== null && client === null) throw new Failure(`there is no client named ${name}`)
        const period = periodOf(days, Date.now())
        const answer = await answerOperator(pool, {
          client,
          days,
          ...period,
          groupBy: by,
          ...(page === null ? {} : { page }),
        })
        const hasUnknown = answer.rows.some(({ model }) => model === UNKNOWN_MODEL)
        const scope = { clientId: client?.id ?? null, ...period }
        return { ...answer, names: hasUnknown ? await selectRequestedNames(pool, scope) : [] }
      })
      cli.print(
        by.length === 1 ? withNames(document, names) : document,
        [table(rows, by), ...namesText(names)].join('\n'),
      )
      sayNext(cli, next)
    })
}

interface UsageOptions {
  readonly client?: string | null
  readonly days: number
  readonly groupBy: readonly UsageGroup[]
  readonly limit?: number
  readonly sort: UsageSort
  readonly cursor?: string
}

/** @throws {Failure} When there is nothing that it could be a part of. */
function pageOf({ groupBy: by, limit, sort, cursor }: UsageOptions): UsagePage | null {
  if (limit === undefined) {
    if (cursor !== undefined) throw new Failure('--cursor needs --limit')
    return null
  }
  if (by.length === 0) throw new Failure('--limit needs --by: without groups there is one answer')
  if (cursor === undefined) return { limit, sort, after: null }
  const after = parseUsageCursor(cursor, sort, by)
  if (after === null) throw new Failure('--cursor is not that of an answer to the same query')
  return { limit, sort, after }
}

function parseGroups(text: string): readonly UsageGroup[] {
  const groups = parseUsageGroups(text)
  if (groups !== null) return groups
  throw new InvalidArgumentError(`Write ${USAGE_GROUPS.join(', ')}, or several of them parted by commas.`)
}

/** Figures about completeness have a column only where there is something to report. */
const FIGURES: readonly {
  heading: string
  cell: (row: UsageRow) => string
  onlyIf?: (row: UsageRow) => bigint
}[] = [
  { heading: 'REQUESTS', cell: ({ requests }) => `${requests}` },
  { heading: 'ERRORS', cell: ({ errors }) => `${errors}`, onlyIf: ({ errors }) => errors },
  { heading: 'INPUT', cell: ({ inputTokens }) => `${inputTokens}` },
  { heading: 'OUTPUT', cell: ({ outputTokens }) => `${outputTokens}` },
  { heading: 'TOTAL', cell: ({ inputTokens, outputTokens }) => `${inputTokens + outputTokens}` },
  { heading: 'ESTIMATED', cell: ({ estimated }) => `${estimated}`, onlyIf: ({ estimated }) => estimated },
  { heading: 'UNPRICED', cell: ({ unpriced }) => `${unpriced}`, onlyIf: ({ unpriced }) => unpriced },
  {
    heading: 'PARTLY PRICED',
    cell: ({ partlyUnpriced }) => `${partlyUnpriced}`,
    onlyIf: ({ partlyUnpriced }) => partlyUnpriced,
  },
  { heading: 'AVG MS', cell: (row) => renderSummary(null, 0, row).avg_latency_ms.toFixed(0) },
  { heading: 'COST USD', cell: ({ costPico }) => picoToUsdText(costPico) },
]

/** For the row of all unknown models: the names that were requested. */
function withNames(document: unknown, names: readonly RequestedName[]): unknown {
  if (!Array.isArray(document) || names.length === 0) return document
  const requested = names.map(({ model, requests }) => ({ model, requests: Number(requests) }))
  return document.map((row: { readonly model?: unknown }) =>
    row.model === UNKNOWN_MODEL ? { ...row, requested_models: requested } : row,
  )
}

function namesText(names: readonly RequestedName[]): readonly string[] {
  if (names.length === 0) return []
  const named = names.map(({ model, requests }) => `${printable(model)} (${requests})`).join(', ')
  return ['', `${UNKNOWN_MODEL} asked for: ${named}.`]
}

function table(rows: readonly UsageRow[], by: readonly UsageGroup[]): string {
  if (rows.length === 0) return 'Nothing was used.'
  const figures = FIGURES.filter(({ onlyIf }) => onlyIf === undefined || rows.some((row) => onlyIf(row) > 0n))
  return renderTable(
    [
      ...by.map((group) => ({ heading: group.toUpperCase() })),
      ...figures.map(({ heading }) => ({ heading, align: 'right' as const })),
    ],
    rows.map((row) => [...by.map((group) => groupName(row, group)), ...figures.map(({ cell }) => cell(row))]),
  )
}
