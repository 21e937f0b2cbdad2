import { z } from 'zod'
import { AXIS_NAME } from '../../call/axes.ts'
import { MAX_PAGE_LIMIT } from '../../domain/documents/page-limit.ts'
import { DEFAULT_PERIOD_DAYS, isMonthPeriod, periodBefore, periodOf } from '../../domain/period.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { findClient } from '../../keys/clients.ts'
import { getGroupOfAnyDay } from '../../keys/operations/groups.ts'
import {
  choiceField,
  clientField,
  countField,
  flagField,
  formField,
  groupsField,
  LIST_PART,
  modelNameField,
  textField,
} from '../../operations/fields.ts'
import {
  type Chapter,
  FOR_THE_PAGE,
  type InputOf,
  Part,
  renderedOperation,
  Unchanged,
} from '../../operations/operation.ts'
import type { ClientPorts, Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { badCursor, invalid, noClient } from '../../operations/refuse.ts'
import { renderTable } from '../../operations/table.ts'
import { type Report, type ReportCosts, readReport } from '../report/read-report.ts'
import { REPORT, renderReport } from '../report/render-report.ts'
import {
  hasLatencies,
  hasRefused,
  INTERVALS,
  isAxis,
  isClientGroup,
  MOST_GROUPS,
  PERCENTILE_NAMES,
  parseReportCursor,
  REPORT_GROUPS,
  REPORT_SORTS,
  type ReportFilter,
  type ReportGroup,
  type ReportQuery,
} from '../report/report-query.ts'
import type { ReportTotals } from '../report/select-report.ts'
import { checkPeriod, PERIOD_FIELDS, PERIOD_OPTIONS, periodAsked } from './asked-period.ts'

const MOST_TOP = 50
const DEFAULT_ROWS = 100
const DEFAULT_TOP = 10
const AXIS_VALUE = new RegExp(`${AXIS_NAME.source.slice(0, -1)}=.{1,160}$`)

function groupByField<const Name extends ReportGroup>(names: readonly Name[], description: string) {
  const item = z.templateLiteral(['axis:', z.string().regex(AXIS_NAME)])
  return groupsField(names, description, { item, text: 'axis:NAME' })
    .refine((groups) => groups.length <= MOST_GROUPS, `must name at most ${MOST_GROUPS}`)
    .optional()
}

const FIELDS = {
  ...PERIOD_FIELDS,
  compare: choiceField(
    ['previous'],
    'Shows the days before, too: before a month, those of the month before.',
  ).optional(),
  interval: choiceField(
    INTERVALS,
    'Adds series of sums by day, by week from Monday, or by month.',
  ).optional(),
  group_by: groupByField(
    REPORT_GROUPS,
    `Breaks it down by at most two of ${REPORT_GROUPS.join(', ')}, or by axis:NAME, alone or with client or group. group: those right below the one asked for, or the topmost ones.`,
  ),
  client: clientField('Only what this client used, by its name.').optional(),
  group: textField(
    'Only what clients in this group of clients or below it used, each on the days it was there. By its id or name.',
    'group',
  ).optional(),
  key: textField('Only what came with this key, by its id.', 'id').optional(),
  model: modelNameField('Only what this model answered.').optional(),
  upstream: textField('Only what went to this upstream.', 'name').optional(),
  axis: formField(AXIS_VALUE, 'must be the name of an axis, =, and a value, such as user=alice', {
    description: 'Only what has this value on this axis: NAME=VALUE.',
    [VALUE]: 'name=value',
  }).optional(),
  costs: flagField(
    'Adds what it costs by public lists and by your contracts, beside what clients pay.',
  ).default(false),
  top: countField(MOST_TOP, 'With interval: so many groups have a series of their own.').default(DEFAULT_TOP),
  sort: choiceField(REPORT_SORTS, 'What rows are sorted by. change needs compare.', 'figure').default('cost'),
  order: choiceField(['desc', 'asc'], 'The largest first, or the smallest.').default('desc'),
  q: textField('Only rows with this in a name or an id, whatever its case.').optional(),
  limit: countField(MAX_PAGE_LIMIT, 'At most so many rows.').default(DEFAULT_ROWS),
  cursor: LIST_PART.cursor,
}

type Asked = InputOf<typeof FIELDS>

/** Rules that need no clock and no store. */
function check(asked: Asked): void {
  const { group_by: groupBy, sort, compare, cursor } = asked
  checkPeriod(asked)
  if (sort === 'change' && compare === undefined) throw invalid('sort', 'needs compare for change')
  if (cursor !== undefined && groupBy === undefined) throw badCursor()
  const scope = { groupBy: groupBy ?? [], filters: filtersOf(asked) }
  checkAxis(scope, asked.costs)
  if (asked.costs && [...scope.groupBy, ...scope.filters.map(({ group }) => group)].some(isClientGroup))
    throw invalid('costs', 'must be left out: groups of clients have no prices of their own')
  if (sort === 'refused' && !hasRefused(scope))
    throw invalid('sort', 'must be another one: refused calls have no upstream')
  if (PERCENTILE_NAMES.some((name) => name === sort) && !hasLatencies(scope))
    throw invalid('sort', 'must be another one: times are kept by client and model alone')
}

/** Values have totals by day and client alone: single calls have the rest. */
function checkAxis({ groupBy, filters }: Pick<ReportQuery, 'groupBy' | 'filters'>, costs: boolean): void {
  const names = new Set([...groupBy, ...filters.map(({ group }) => group)].filter(isAxis))
  if (names.size === 0) return
  if (costs) throw invalid('costs', 'must be left out: values have no prices of their own')
  if (names.size > 1) throw invalid('axis', 'must be of the one axis that group_by names')
  const others = (group: ReportGroup) => group !== 'client' && !isAxis(group) && !isClientGroup(group)
  const [other] = [...groupBy, ...filters.map(({ group }) => group)].filter(others)
  if (other !== undefined)
    throw invalid(
      groupBy.includes(other) ? 'group_by' : other,
      'must be left out: values have totals by client',
    )
}

/** @param ids Of what is asked for by name. */
function filtersOf(
  { key, model, upstream, client, group, axis }: Asked,
  known: KnownIds = {},
): readonly ReportFilter[] {
  const [name = '', ...value] = axis?.split('=') ?? []
  const ofAxis = axis === undefined ? [] : [{ group: `axis:${name}` as const, ids: [value.join('=')] }]
  const ids = { client, key, model, upstream, group, ...known }
  const ofDimensions = REPORT_GROUPS.flatMap((group) => {
    const id = ids[group]
    return id === undefined ? [] : [{ group, ids: [id] }]
  })
  return [...ofDimensions, ...ofAxis]
}

interface KnownIds {
  readonly client?: string
  readonly group?: string
}

function queryOf(asked: Asked, known: KnownIds, nowMs: number): ReportQuery {
  const period = periodAsked(asked, nowMs) ?? periodOf(DEFAULT_PERIOD_DAYS, nowMs)
  const { sort, order, cursor, compare, interval = null, top, q = '', limit, group_by: groupBy = [] } = asked
  const after = cursor === undefined ? null : parseReportCursor(cursor, { sort, order, groupBy })
  if (cursor !== undefined && after === null) throw badCursor()
  return {
    period,
    before: compare === undefined ? null : periodBefore(period, isMonthPeriod(asked.period ?? '')),
    groupBy,
    filters: filtersOf(asked, known),
    interval,
    top,
    sort,
    order,
    search: q === '' ? null : q,
    limit,
    costs: asked.costs,
    after,
  }
}

export const reportOperation = renderedOperation({
  name: 'report',
  summary: 'Shows what was used and what it cost: totals, series, and the groups with most.',
  role: 'read',
  http: { method: 'GET', path: '/report', id: 'getReport' },
  input: FIELDS,
  check,
  answer: REPORT,
  gives: 'The report.',
  errors: ['not_found'],
  isReport: true,
  isConditional: true,
  async run({ pool, read, now, holds }: Ports, asked) {
    const client = asked.client === undefined ? null : await findClient(pool, asked.client)
    if (asked.client !== undefined && client === null) throw noClient(asked.client)
    const group = asked.group === undefined ? null : await getGroupOfAnyDay(pool, asked.group)
    const known = { ...(client && { client: client.id }), ...(group && { group: group.id }) }
    const query = queryOf(asked, known, now())
    const answer = await read((from) => readReport(from, query, holds))
    return answer.kind === 'same'
      ? new Unchanged(answer.tag)
      : new Part(answer.report, answer.next, answer.tag)
  },
  render: renderReport,
  command: { words: 'report', options: PERIOD_OPTIONS, print: textOf },
})

/** A client sees itself alone: neither when calls of others were counted, nor upstreams and what these cost. */
const { client: _client, group: _group, upstream: _upstream, costs: _costs, ...OWN_FIELDS } = FIELDS

const OWN_REPORT = REPORT.omit({ as_of: true }).meta({ id: 'OwnReport' })

export const ownReport = renderedOperation({
  name: 'own.report',
  summary: 'Shows what the client used and what it cost: totals, series, and what it used most.',
  role: 'client',
  http: { method: 'GET', path: '/report', id: 'getOwnReport' },
  input: {
    ...OWN_FIELDS,
    group_by: groupByField(['key', 'model'], 'Breaks it down by key, model, both, or by axis:NAME alone.'),
  },
  check: (asked) => check({ ...asked, costs: false }),
  answer: OWN_REPORT,
  gives: 'The report.',
  command: FOR_THE_PAGE,
  async run({ read, now, client, holds }: ClientPorts, asked) {
    const query = queryOf({ ...asked, costs: false }, { client: client.id }, now())
    const answer = await read((from) => readReport(from, query, holds))
    if (answer.kind === 'same') throw new Error('a client holds no answer')
    return new Part(answer.report, answer.next)
  },
  render(report: Report) {
    const { as_of: _, ...own } = renderReport(report)
    return own
  },
})

export const REPORT_CHAPTER: Chapter<Ports> = {
  words: 'report',
  about: 'What was used, and what it cost, beside the time before.',
  operations: [reportOperation],
}

interface Column {
  readonly heading: string
  readonly cell: (totals: ReportTotals) => string
}

/** Only where there are any: calls of tools alone have them. */
const BYTES: Column = { heading: 'BYTES', cell: ({ now }) => `${now.requestBytes + now.answerBytes}` }

const COLUMNS: readonly Column[] = [
  { heading: 'REQUESTS', cell: ({ now }) => `${now.requests}` },
  { heading: 'ERRORS', cell: ({ now }) => `${now.errors}` },
  { heading: 'REFUSED', cell: ({ refused }) => (refused === null ? '' : `${refused}`) },
  { heading: 'TOKENS', cell: ({ now }) => `${now.inputTokens + now.outputTokens}` },
  { heading: 'UNPRICED', cell: ({ now }) => `${now.unpriced}` },
  { heading: 'COST USD', cell: ({ now }) => picoToUsdText(now.costPico) },
]

function textOf({ query, totals, rows, costs }: Report): string {
  const { period, before, groupBy } = query
  const columns = [
    ...COLUMNS,
    ...(totals.now.requestBytes + totals.now.answerBytes > 0n ? [BYTES] : []),
    ...(before === null
      ? []
      : [
          {
            heading: 'CHANGE USD',
            cell: (one: ReportTotals) => picoToUsdText(one.now.costPico - (one.before?.costPico ?? 0n)),
          },
        ]),
  ]
  const costCells = (one: ReportCosts | undefined) =>
    one === undefined
      ? []
      : [
          ...[picoToUsdText(one.listPico), picoToUsdText(one.contractedPico)],
          one.other === null ? '' : picoToUsdText(one.other.otherPico),
        ]
  const shown = rows.map(({ names, ...figures }, place) => [
    ...names.map(({ id, name }) => name ?? (id === '' ? '(none)' : id)),
    ...columns.map(({ cell }) => cell(figures)),
    ...costCells(costs?.rows[place]),
  ])
  const total = [
    ...groupBy.map((_, index) => (index === 0 ? '(all)' : '')),
    ...columns.map(({ cell }) => cell(totals)),
    ...costCells(costs?.totals),
  ]
  const headings = [
    ...columns.map(({ heading }) => heading),
    ...(costs === null ? [] : ['LIST USD', 'CONTRACTED USD', 'OTHER USD']),
  ]
  return [
    `${period.fromDay} to ${period.toDay}, UTC${before === null ? '' : `, beside ${before.fromDay} to ${before.toDay}`}`,
    renderTable(
      [
        ...groupBy.map((group) => ({ heading: group.toUpperCase() })),
        ...headings.map((heading) => ({ heading, align: 'right' as const })),
      ],
      shown,
      total,
    ),
  ].join('\n')
}
