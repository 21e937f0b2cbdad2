import { countsBy } from '../../call/usage.ts'
import { picoToUsdNumber } from '../../domain/pico-usd.ts'
import type { AmountField, CountField } from '../metrics-table.ts'

/** The metrics that a summary shows, or computes a figure from. */
export const SUMMARY_FIELDS = [
  'requests',
  'inputTokens',
  'outputTokens',
  'latencyUsSum',
  'latencyCount',
  'costPico',
] as const satisfies readonly (CountField | AmountField)[]

/** Those that say how far a group's tokens and cost are known, and its errors. */
export const RELIABILITY_FIELDS = [
  'errors',
  'unpriced',
  'estimated',
  'estimatedInputTokens',
  'estimatedOutputTokens',
] as const satisfies readonly (CountField | AmountField)[]

/** Those that say of which class tokens are: parts of the input, and of the output. */
export const TOKEN_CLASS_FIELDS = [
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
] as const satisfies readonly CountField[]

/** Those that say how long the bodies of calls of tools were. */
export const BYTE_FIELDS = ['requestBytes', 'answerBytes'] as const satisfies readonly CountField[]

/** Those that say which part of a group has no price. */
export const UNPRICED_FIELDS = ['unpricedInputTokens', 'unpricedOutputTokens', 'partlyUnpriced'] as const

/** Exact totals over any set of calls, corrections included; what is unpriced adds nothing to the cost. */
export type UsageTotals = Readonly<Record<(typeof SUMMARY_FIELDS)[number], bigint>>

/** Totals of a group, and how far they are the whole of it. */
export interface GroupTotals
  extends UsageTotals,
    Readonly<Record<(typeof RELIABILITY_FIELDS)[number], bigint>> {
  /** Calls of whose cost a part is unpriced. 0 without a grouping, as are the next two. */
  readonly partlyUnpriced: bigint
  /** The tokens of calls without a price. */
  readonly unpricedInputTokens: bigint
  readonly unpricedOutputTokens: bigint
}

/** What the API description says of a figure. */
export interface FigureText {
  readonly type: 'integer' | 'number'
  readonly minimum?: 0
  readonly description: string
}

/** A number in answers about usage. */
interface Figure<Totals> extends FigureText {
  readonly of: (totals: Totals) => number
}

function count<Totals>(of: (totals: Totals) => bigint, description: string): Figure<Totals> {
  return { of: (totals) => Number(of(totals)), type: 'integer', minimum: 0, description }
}

/** The figures of a summary: exactly these, in this order. */
export const FIGURES = {
  requests: count(({ requests }) => requests, 'Calls that were sent upstream, each once, however it ended.'),
  input_tokens: count(({ inputTokens }) => inputTokens, 'Every prompt token, cached ones included.'),
  output_tokens: count(({ outputTokens }) => outputTokens, 'Every generated token, reasoning included.'),
  total_tokens: count(
    ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
    'input_tokens + output_tokens.',
  ),
  avg_latency_ms: {
    of: ({ latencyUsSum, latencyCount }) => averageMs(latencyUsSum, latencyCount),
    type: 'number',
    minimum: 0,
    description:
      "From a request's arrival to the upstream's last byte, over the calls that got an upstream response; 0 when there were none.",
  },
  cost_usd: {
    of: ({ costPico }) => picoToUsdNumber(costPico),
    type: 'number',
    description:
      'The JSON number nearest to a sum that is exact to 1e-12 USD. What has no price adds nothing.',
  },
} as const satisfies Readonly<Record<string, Figure<UsageTotals>>>

/**
 * The figures that a group of an operator's answer has besides: a cost of 0 may be that of calls without a
 * price.
 */
export const RELIABILITY_FIGURES = {
  unpriced: count(
    ({ unpriced }) => unpriced,
    'Calls without a cost: what they cost is in no sum. Only with a grouping.',
  ),
  partly_unpriced: count(
    ({ partlyUnpriced }) => partlyUnpriced,
    'Calls of whose use a part has no price. Only with a grouping.',
  ),
  estimated: count(
    ({ estimated }) => estimated,
    'Calls whose tokens were counted here, not reported. Only with a grouping.',
  ),
  unpriced_input_tokens: count(
    ({ unpricedInputTokens }) => unpricedInputTokens,
    'Of input_tokens, those of calls without a cost. Only with a grouping.',
  ),
  unpriced_output_tokens: count(
    ({ unpricedOutputTokens }) => unpricedOutputTokens,
    'Of output_tokens, those of calls without a cost. Only with a grouping.',
  ),
  estimated_input_tokens: count(
    ({ estimatedInputTokens }) => estimatedInputTokens,
    'Of input_tokens, those that were counted here. Only with a grouping.',
  ),
  estimated_output_tokens: count(
    ({ estimatedOutputTokens }) => estimatedOutputTokens,
    'Of output_tokens, those that were counted here. Only with a grouping.',
  ),
} as const satisfies Readonly<Record<string, Figure<GroupTotals>>>

/** The figures of these totals, as JSON shows them. */
export function renderFigures<Name extends string, Totals>(
  figures: Readonly<Record<Name, Pick<Figure<Totals>, 'of'>>>,
  totals: Totals,
): Readonly<Record<Name, number>> {
  return countsBy(Object.keys(figures) as Name[], (name) => figures[name].of(totals))
}

/** The usage summary of the contract: exactly these fields, in this order. */
export type UsageSummary<Client extends string | null = string | null> = {
  /** The client's name; `null`: all clients together. */
  readonly client: Client
  readonly period_days: number
} & Readonly<Record<keyof typeof FIGURES, number>>

/** The summary of `totals` over the last `periodDays` UTC days. */
export function renderSummary<Client extends string | null>(
  client: Client,
  periodDays: number,
  totals: UsageTotals,
): UsageSummary<Client> {
  return { client, period_days: periodDays, ...renderFigures(FIGURES, totals) }
}

/** The totals of groups that have no call in common, together. */
export function sumTotals(groups: readonly UsageTotals[]): UsageTotals {
  return countsBy(SUMMARY_FIELDS, (field) => groups.reduce((sum, group) => sum + group[field], 0n))
}

/** Milliseconds to the microsecond, rounded half up; 0 when there are none. */
export function averageMs(sumUs: bigint, count: bigint): number {
  if (count === 0n) return 0
  return Number((2n * sumUs + count) / (2n * count)) / 1000
}
