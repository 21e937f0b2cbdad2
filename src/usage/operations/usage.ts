import { z } from 'zod'
import { countsBy } from '../../call/usage.ts'
import { UNKNOWN_MODEL } from '../../domain/model-name.ts'
import { daysIn, periodOf } from '../../domain/period.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { findClient } from '../../keys/clients.ts'
import { shownDay, shownDocument, shownList, shownText, shownTextOrNull } from '../../operations/answers.ts'
import { choiceField, clientField, daysField, groupsField, LIST_PART } from '../../operations/fields.ts'
import { type Chapter, Part, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { badCursor, invalid, noClient } from '../../operations/refuse.ts'
import { printable, renderTable } from '../../operations/table.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { UsageGroup } from '../dimensions.ts'
import { answerOperator, GROUP_FIELDS, groupName } from '../query/answer-usage.ts'
import type { RequestedName, UsageRow, UsageScope } from '../query/select-usage.ts'
import { FIGURES, type FigureText, RELIABILITY_FIGURES, renderSummary } from '../query/usage-figures.ts'
import { parseUsageCursor, USAGE_SORTS, type UsagePage } from '../query/usage-page.ts'
import { USAGE_GROUPS } from '../query/usage-query.ts'
import { checkPeriod, PERIOD_FIELDS, PERIOD_OPTIONS, periodAsked } from './asked-period.ts'
import { exportUsage } from './export.ts'

export interface UsagePorts extends Ports {
  /** What requests named whose model is not known. It reads single calls, which only the command line waits for. */
  findRequestedNames(pool: Postgres, scope: UsageScope): Promise<readonly RequestedName[]>
}

export function shownFigures<Name extends string>(figures: Readonly<Record<Name, FigureText>>) {
  return countsBy(Object.keys(figures) as Name[], (name) => {
    const { type, minimum, description } = figures[name]
    return z.number().meta({ type, ...(minimum === undefined ? {} : { minimum }), description })
  })
}

export function optional(shape: z.ZodRawShape): z.ZodRawShape {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, z.optional(schema)]))
}

export const GROUP_NAMES: z.ZodRawShape = Object.fromEntries(
  GROUP_FIELDS.map(({ name, description, isDay, isNullable }) => [
    name,
    isNullable ? shownTextOrNull(description) : isDay ? shownDay(description) : shownText(description),
  ]),
)

export const PERIOD_DAYS = z
  .number()
  .meta({ type: 'integer', minimum: 1, maximum: 366, description: 'UTC days.' })

const OPERATOR_USAGE = shownDocument('OperatorUsage', {
  ...optional(GROUP_NAMES),
  client: shownTextOrNull('The name of a client. null: all of them.'),
  period_days: PERIOD_DAYS,
  ...shownFigures(FIGURES),
  cost_usd_text: shownText('cost_usd to the last of its 12 places, as decimal text.'),
  ...optional(shownFigures(RELIABILITY_FIGURES)),
})

interface Asked {
  readonly group_by?: readonly UsageGroup[] | undefined
  readonly limit?: number | undefined
  readonly sort?: UsagePage['sort'] | undefined
  readonly cursor?: string | undefined
}

/** In the order written. */
function groupsOf({ group_by = [] }: Asked): readonly UsageGroup[] {
  return group_by
}

/** `null`: all groups are asked for. */
function pageOf(asked: Asked): UsagePage | null {
  const { limit, sort = 'cost', cursor } = asked
  if (limit === undefined) return null
  const after = cursor === undefined ? null : parseUsageCursor(cursor, sort, groupsOf(asked))
  if (cursor !== undefined && after === null) throw badCursor()
  return { limit, sort, after }
}

const usageOperation = renderedOperation({
  name: 'usage',
  summary: 'Shows what was used, and what it cost.',
  role: 'read',
  http: { method: 'GET', path: '/usage', id: 'getUsageOfAll' },
  input: {
    client: clientField().optional(),
    days: daysField().describe('UTC days: today and those before. from and period stand in its place.'),
    ...PERIOD_FIELDS,
    group_by: groupsField(
      USAGE_GROUPS,
      `Breaks it down by ${USAGE_GROUPS.join(', ')}, or several. The answer is then a list.`,
    ).optional(),
    limit: LIST_PART.limit.describe(
      'At most so many groups, those with most of what they are sorted by. Without it: all, by name.',
    ),
    sort: choiceField(
      USAGE_SORTS,
      'With limit: what groups are sorted by, the largest first. Without it: cost.',
      'figure',
    ).optional(),
    cursor: LIST_PART.cursor.describe(
      'Goes on behind the last group of an answer to the same query: its header x-tallygate-next-cursor.',
    ),
  },
  check(input) {
    checkPeriod(input)
    const needing = (['sort', 'cursor'] as const).find((name) => input[name] !== undefined)
    if (input.limit === undefined) {
      if (needing !== undefined) throw invalid(needing, 'needs limit')
    } else if (groupsOf(input).length === 0)
      throw invalid('limit', 'needs group_by: without groups there is one answer')
    pageOf(input)
  },
  answer: z.union([OPERATOR_USAGE, shownList(OPERATOR_USAGE)]),
  gives: 'One summary, or a list of them.',
  errors: ['not_found'],
  isReport: true,
  async run({ pool, read, now, findRequestedNames }: UsagePorts, input) {
    const { client: name } = input
    const client = name === undefined ? null : await findClient(pool, name)
    if (name !== undefined && client === null) throw noClient(name)
    const period = periodAsked(input, now()) ?? periodOf(input.days, now())
    const days = daysIn(period)
    const groupBy = groupsOf(input)
    const page = pageOf(input)
    return await read(async (from) => {
      const query = { client, days, ...period, groupBy, ...(page === null ? {} : { page }) }
      const { rows, document, next } = await answerOperator(from, query)
      const hasUnknown = rows.some(({ model }) => model === UNKNOWN_MODEL)
      const scope = { clientId: client?.id ?? null, ...period, groupBy }
      const names = hasUnknown ? await findRequestedNames(from, scope) : []
      return new Part({ rows, document, names }, next)
    })
  },
  render: ({ document }: FoundUsage) => document,
  command: {
    words: 'usage',
    options: PERIOD_OPTIONS,
    json: ({ document, names }, input) =>
      documentOfCommand(document, groupsOf(input).length === 1 ? names : []),
    print: ({ rows, names }, input) => [table(rows, input), ...namesText(names)].join('\n'),
  },
})

export const USAGE_CHAPTER: Chapter<UsagePorts> = {
  words: 'usage',
  about: 'What was used, and what it cost.',
  operations: [usageOperation, exportUsage],
}

type OperatorDocument = Awaited<ReturnType<typeof answerOperator>>['document']

interface FoundUsage {
  readonly rows: readonly UsageRow[]
  readonly document: OperatorDocument
  readonly names: readonly RequestedName[]
}

/** The command's fields are fixed. For the row of all unknown models: the names that were requested. */
function documentOfCommand(document: OperatorDocument, names: readonly RequestedName[]): unknown {
  if (!isList(document)) return withoutText(document)
  const requested = names.map(({ model, requests }) => ({ model, requests: Number(requests) }))
  return document.map((row) => {
    const isUnknown = 'model' in row && row.model === UNKNOWN_MODEL && names.length > 0
    return isUnknown ? { ...withoutText(row), requested_models: requested } : withoutText(row)
  })
}

function isList(document: OperatorDocument): document is Extract<OperatorDocument, readonly unknown[]> {
  return Array.isArray(document)
}

function withoutText({ cost_usd_text: _, ...row }: { readonly cost_usd_text: string }): object {
  return row
}

/** Figures about completeness have a column only where there is something to report. */
const COLUMNS: readonly {
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

function namesText(names: readonly RequestedName[]): readonly string[] {
  if (names.length === 0) return []
  const named = names.map(({ model, requests }) => `${printable(model)} (${requests})`).join(', ')
  return ['', `${UNKNOWN_MODEL} asked for: ${named}.`]
}

/** The dearest first, but days in their order; below them what a part is of, unless only a part was asked for. */
function table(rows: readonly UsageRow[], asked: Asked): string {
  if (rows.length === 0) return 'Nothing was used.'
  const groups = groupsOf(asked)
  const figures = COLUMNS.filter(({ onlyIf }) => onlyIf === undefined || rows.some((row) => onlyIf(row) > 0n))
  const sum = sumOf(rows)
  const isWhole = groups.length > 0 && asked.limit === undefined && rows.length > 1
  const shares = isWhole && sum.costPico > 0n ? [{ heading: 'SHARE', align: 'right' as const }] : []
  const isInOrder = asked.limit !== undefined || groups.includes('day')
  const sorted = isInOrder
    ? rows
    : rows.toSorted((a, b) => Number(b.costPico > a.costPico) - Number(b.costPico < a.costPico))
  return renderTable(
    [
      ...groups.map((group) => ({ heading: group.toUpperCase() })),
      ...figures.map(({ heading }) => ({ heading, align: 'right' as const })),
      ...shares,
    ],
    sorted.map((row) => [
      ...groups.map((group) => groupName(row, group)),
      ...figures.map(({ cell }) => cell(row)),
      ...shares.map(() => shareOf(row.costPico, sum.costPico)),
    ]),
    isWhole
      ? [
          ...groups.map((_group, index) => (index === 0 ? '(all)' : '')),
          ...figures.map(({ cell }) => cell(sum)),
          ...shares.map(() => '100.0 %'),
        ]
      : undefined,
  )
}

/** Every figure of a row is a sum, so rows add up. */
function sumOf(rows: readonly UsageRow[]): UsageRow {
  return rows.reduce(added)
}

function added(one: UsageRow, other: UsageRow): UsageRow {
  const figures = new Map<string, unknown>(Object.entries(other))
  const sums = Object.entries(one).flatMap(([name, figure]) => {
    const more = figures.get(name)
    return typeof figure === 'bigint' && typeof more === 'bigint' ? [[name, figure + more] as const] : []
  })
  return { ...one, ...Object.fromEntries(sums) }
}

/** In percent, to one place. Credits may have made it negative. */
function shareOf(costPico: bigint, ofPico: bigint): string {
  return `${(Number((costPico * 10_000n) / ofPico) / 100).toFixed(1)} %`
}
