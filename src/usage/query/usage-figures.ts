import { picoToUsdNumber } from '../../domain/pico-usd.ts'

/** Exact totals over any set of calls. */
export interface UsageTotals {
  readonly requests: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  /** Over the calls that have a latency. */
  readonly latencyUsSum: bigint
  readonly latencyCount: bigint
  /** As metered and adjusted; unpriced calls add nothing. */
  readonly costPico: bigint
}

/** The figures of a summary, as JSON shows them. */
export interface UsageFigures {
  readonly requests: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly total_tokens: number
  readonly avg_latency_ms: number
  readonly cost_usd: number
}

/** The usage summary of the contract: exactly these fields, in this order. */
export interface UsageSummary extends UsageFigures {
  /** The client's name; `null`: all clients together. */
  readonly client: string | null
  readonly period_days: number
}

export const NO_TOTALS: UsageTotals = {
  requests: 0n,
  inputTokens: 0n,
  outputTokens: 0n,
  latencyUsSum: 0n,
  latencyCount: 0n,
  costPico: 0n,
}

/** The whole of groups that have no call in common. */
export function sumTotals(groups: readonly UsageTotals[]): UsageTotals {
  return groups.reduce(
    (whole, group) => ({
      requests: whole.requests + group.requests,
      inputTokens: whole.inputTokens + group.inputTokens,
      outputTokens: whole.outputTokens + group.outputTokens,
      latencyUsSum: whole.latencyUsSum + group.latencyUsSum,
      latencyCount: whole.latencyCount + group.latencyCount,
      costPico: whole.costPico + group.costPico,
    }),
    NO_TOTALS,
  )
}

/** The summary of `totals` over the last `periodDays` UTC days. */
export function renderSummary<Client extends string | null>(
  client: Client,
  periodDays: number,
  totals: UsageTotals,
): UsageSummary & { readonly client: Client } {
  return { client, period_days: periodDays, ...renderFigures(totals) }
}

/** The figures alone, for one group of a grouped summary. */
export function renderFigures(totals: UsageTotals): UsageFigures {
  return {
    requests: Number(totals.requests),
    input_tokens: Number(totals.inputTokens),
    output_tokens: Number(totals.outputTokens),
    total_tokens: Number(totals.inputTokens + totals.outputTokens),
    avg_latency_ms: averageMs(totals.latencyUsSum, totals.latencyCount),
    cost_usd: picoToUsdNumber(totals.costPico),
  }
}

/** Milliseconds to the microsecond, rounded half up; 0 when there are none. */
function averageMs(sumUs: bigint, count: bigint): number {
  if (count === 0n) return 0
  return Number((2n * sumUs + count) / (2n * count)) / 1000
}
