import { z } from 'zod'
import { LATENCY_BOUNDS_US } from '../../domain/latency.ts'
import { picoToUsdNumber, picoToUsdText } from '../../domain/pico-usd.ts'
import {
  shownCount,
  shownCountOrNull,
  shownDay,
  shownDocument,
  shownList,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { averageMs } from '../query/usage-figures.ts'
import type { Report, ReportCosts } from './read-report.ts'
import {
  dimensionOf,
  type Percentile,
  REPORT_GROUPS,
  type ReportGroup,
  VALUE_COLUMN,
} from './report-query.ts'
import type { ReportRow, ReportSums, ReportTotals } from './select-report.ts'

const MONEY = {
  cost_usd: z.number().describe('The JSON number nearest to cost_usd_text.'),
  cost_usd_text: shownText(
    'What it cost, corrections included, exact, as decimal text. What has no price adds nothing.',
  ),
}

const ms = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ type: ['number', 'null'], minimum: 0, description })

const BEFORE = shownDocument('ReportBefore', {
  requests: shownCount('Calls that were sent upstream.'),
  errors: shownCount('Of these, those that failed.'),
  total_tokens: shownCount('Input and output tokens.'),
  ...MONEY,
  change_usd: z.number().describe('The JSON number nearest to change_usd_text.'),
  change_usd_text: shownText('The cost of the period less the cost of the one before, exact.'),
})

const FIGURES = {
  requests: shownCount('Calls that were sent upstream, each once, however it ended.'),
  errors: shownCount('Of these, those that failed: by their upstream, their status, or their body.'),
  input_tokens: shownCount('Every prompt token, cached ones included.'),
  output_tokens: shownCount('Every generated token, reasoning included.'),
  total_tokens: shownCount('input_tokens + output_tokens.'),
  cache_read_tokens: shownCount('Of input_tokens, those read from a cache.'),
  cache_write_tokens: shownCount('Of input_tokens, those written to a cache.'),
  reasoning_tokens: shownCount('Of output_tokens, those of hidden reasoning.'),
  request_bytes: shownCount('Bytes of the bodies of requests, of calls of tools.'),
  answer_bytes: shownCount('The same of answers, as the servers sent them.'),
  unpriced: z
    .number()
    .meta({ type: 'integer', description: 'Calls without a cost: what they cost is in no sum.' }),
  estimated: shownCount('Calls whose tokens were counted here, not reported.'),
  refused: shownCountOrNull('Calls that were refused before they went upstream. null: not kept by upstream.'),
  avg_latency_ms: ms('From arrival to the last byte, over calls that got a response. null: there were none.'),
  p50_ms: ms(
    'Half of these took at most this long, to a fifth. null: not kept by key and upstream, or none.',
  ),
  p95_ms: ms('The same of 95 in 100.'),
  first_byte_p50_ms: ms('Half of the calls had their first byte after at most this time, to a fifth.'),
  first_byte_p95_ms: ms('The same of 95 in 100.'),
  ...MONEY,
  costs: shownDocument('ReportCosts', {
    list_usd: shownText('By public lists, without markups, corrections of prices included.'),
    contracted_usd: shownText('By your contracts with providers, which is what you pay.'),
    billed_usd: shownText('What clients pay for calls: cost_usd_text.'),
    other_usd: shownTextOrNull(
      'What is charged beside calls, by its first day. null: not kept by what the report is about.',
    ),
    unassigned_usd: shownTextOrNull('Of that, what no client pays: yours. null: likewise.'),
  })
    .optional()
    .describe('US dollars as exact decimal text. Only with costs.'),
  before: BEFORE.optional().describe('The same of the period before. Only with compare.'),
}

/** The fields that name a row's groups; only those that it is broken down by. */
const NAMES: z.ZodRawShape = Object.fromEntries([
  [VALUE_COLUMN, shownText("The value on the axis; '(none)', '(other)', or '(corrected)'.").optional()],
  ...REPORT_GROUPS.flatMap((group) => {
    const { column, named } = dimensionOf(group)
    const id = [
      column,
      shownText(named === undefined ? `The ${group}.` : `The id of the ${group}; '': none.`).optional(),
    ]
    return named === undefined
      ? [id]
      : [id, [nameField(group), shownTextOrNull('Its name. null: it is not known.').optional()]]
  }),
])

/** The field that has a group's name: `client`, `key`. */
function nameField(group: ReportGroup): string {
  return dimensionOf(group).named?.exported ?? group
}

const PERIOD = shownDocument('ReportPeriod', {
  from: shownDay('Its first UTC day.'),
  to: shownDay('Its last UTC day.'),
})

const POINTS = {
  requests: shownList(shownCount('Calls.'), 'Calls at each start.'),
  errors: shownList(shownCount('Failed calls.'), 'Failed calls at each start.'),
  total_tokens: shownList(shownCount('Tokens.'), 'Input and output tokens at each start.'),
  cost_usd: shownList(z.number(), 'The JSON numbers nearest to cost_usd_text.'),
  cost_usd_text: shownList(z.string(), 'The exact cost at each start, as decimal text.'),
}

export const REPORT = shownDocument('Report', {
  period: PERIOD,
  before: PERIOD.optional().describe('The period that it is compared with. Only with compare.'),
  as_of: shownMomentOrNull('When the newest call or correction in it was counted. null: there is none.'),
  totals: shownDocument('ReportTotals', FIGURES),
  series: shownDocument('ReportSeries', {
    starts: shownList(shownDay('The first UTC day of a place; weeks begin on Monday.')),
    groups: shownList(
      shownDocument('ReportGroupSeries', { ...NAMES, ...POINTS }),
      'The first rows, in their order.',
    ),
    other: shownDocument('ReportOtherSeries', POINTS).describe('All that no group of these has.'),
  })
    .optional()
    .describe('Only with interval, and not behind a cursor.'),
  rows: shownList(
    shownDocument('ReportRow', {
      ...NAMES,
      ...FIGURES,
      share: z.number().nullable().describe("Its part of the totals' cost. null: these cost nothing."),
    }),
    'The groups, in the order asked for.',
  ),
})

export type ReportDocument = z.output<typeof REPORT>

export function renderReport({ query, asOf, totals, rows, costs, series }: Report): ReportDocument {
  const { period, before, groupBy } = query
  return {
    period: { from: period.fromDay, to: period.toDay },
    ...(before === null ? {} : { before: { from: before.fromDay, to: before.toDay } }),
    as_of: asOf === null ? null : asOf.toISOString(),
    totals: { ...figuresOf(totals), ...costsOf(costs?.totals, totals) },
    ...(series === null
      ? {}
      : {
          series: {
            starts: series.starts,
            groups: series.groups.map(({ names, sums }) => ({
              ...namesOf(names, groupBy),
              ...pointsOf(sums),
            })),
            other: pointsOf(series.other),
          },
        }),
    rows: rows.map((row, place) => ({
      ...namesOf(row.names, groupBy),
      ...figuresOf(row),
      ...costsOf(costs?.rows[place], row),
      share: totals.now.costPico === 0n ? null : ratio(row.now.costPico, totals.now.costPico),
    })),
  }
}

function costsOf(costs: ReportCosts | undefined, { now }: ReportTotals) {
  if (costs === undefined) return {}
  return {
    costs: {
      list_usd: picoToUsdText(costs.listPico),
      contracted_usd: picoToUsdText(costs.contractedPico),
      billed_usd: picoToUsdText(now.costPico),
      other_usd: costs.other === null ? null : picoToUsdText(costs.other.otherPico),
      unassigned_usd: costs.other === null ? null : picoToUsdText(costs.other.unassignedPico),
    },
  }
}

/** To six places. */
function ratio(part: bigint, whole: bigint): number {
  return Number((part * 1_000_000n) / whole) / 1_000_000
}

function namesOf(names: ReportRow['names'], groupBy: readonly ReportGroup[]) {
  return Object.fromEntries(
    groupBy.flatMap((group, index) => {
      const { column, named } = dimensionOf(group)
      const { id = '', name = null } = names[index] ?? {}
      return named === undefined
        ? [[column, id]]
        : [
            [column, id],
            [nameField(group), name],
          ]
    }),
  )
}

function money(pico: bigint) {
  return { cost_usd: picoToUsdNumber(pico), cost_usd_text: picoToUsdText(pico) }
}

function tokensOf({ inputTokens, outputTokens }: ReportSums): number {
  return Number(inputTokens + outputTokens)
}

function figuresOf({ now, before, refused, places }: ReportTotals) {
  return {
    requests: Number(now.requests),
    errors: Number(now.errors),
    input_tokens: Number(now.inputTokens),
    output_tokens: Number(now.outputTokens),
    total_tokens: tokensOf(now),
    cache_read_tokens: Number(now.cacheReadTokens),
    cache_write_tokens: Number(now.cacheWriteTokens),
    reasoning_tokens: Number(now.reasoningTokens),
    request_bytes: Number(now.requestBytes),
    answer_bytes: Number(now.answerBytes),
    unpriced: Number(now.unpriced),
    estimated: Number(now.estimated),
    refused: refused === null ? null : Number(refused),
    avg_latency_ms: now.latencyCount === 0n ? null : averageMs(now.latencyUsSum, now.latencyCount),
    ...percentilesOf(places),
    ...money(now.costPico),
    ...(before === null
      ? {}
      : {
          before: {
            requests: Number(before.requests),
            errors: Number(before.errors),
            total_tokens: tokensOf(before),
            ...money(before.costPico),
            change_usd: picoToUsdNumber(now.costPico - before.costPico),
            change_usd_text: picoToUsdText(now.costPico - before.costPico),
          },
        }),
  }
}

function percentilesOf(places: Readonly<Record<Percentile, number | null>>) {
  return {
    p50_ms: middleMs(places.p50),
    p95_ms: middleMs(places.p95),
    first_byte_p50_ms: middleMs(places.first_byte_p50),
    first_byte_p95_ms: middleMs(places.first_byte_p95),
  }
}

/** The middle of a bucket, as its bounds are multiplied: off by a fifth at most. The last bucket has no end. */
function middleMs(place: number | null): number | null {
  if (place === null) return null
  const upper = LATENCY_BOUNDS_US[place]
  const us = upper === undefined ? (LATENCY_BOUNDS_US.at(-1) ?? 0) : upper / 2 ** 0.25
  return Math.round(us / 10) / 100
}

function pointsOf(sums: readonly ReportSums[]) {
  return {
    requests: sums.map(({ requests }) => Number(requests)),
    errors: sums.map(({ errors }) => Number(errors)),
    total_tokens: sums.map(tokensOf),
    cost_usd: sums.map(({ costPico }) => picoToUsdNumber(costPico)),
    cost_usd_text: sums.map(({ costPico }) => picoToUsdText(costPico)),
  }
}
