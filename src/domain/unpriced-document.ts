import type { UtcDay } from './utc-day.ts'

/** Calls without a price, of one model at one upstream. */
export interface UnpricedUse {
  readonly model: string
  readonly provider: string
  readonly upstream: string
  readonly calls: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly firstDay: UtcDay
  readonly lastDay: UtcDay
  /** Whether calls of now would have a price. */
  readonly hasPriceNow: boolean
}

/** It as JSON, the same on the command line and over HTTP. */
export function renderUnpriced(use: UnpricedUse) {
  return {
    model: use.model,
    provider: use.provider,
    upstream: use.upstream,
    calls: Number(use.calls),
    input_tokens: Number(use.inputTokens),
    output_tokens: Number(use.outputTokens),
    first_day: use.firstDay,
    last_day: use.lastDay,
    has_price_now: use.hasPriceNow,
  }
}
