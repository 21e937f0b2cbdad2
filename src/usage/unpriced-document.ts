import { reportedNoFigures } from '../call/unpriced-reason.ts'
import type { UtcDay } from '../domain/utc-day.ts'

/** Calls without a cost: of one model at one upstream, at one path, for one reason. */
export interface UnpricedUse {
  readonly model: string
  readonly provider: string
  readonly upstream: string
  readonly serviceTier: string | null
  /** `null` here and in the next two: the single calls are not kept. */
  readonly method: string | null
  readonly path: string | null
  readonly reason: string | null
  readonly calls: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly firstDay: UtcDay
  readonly lastDay: UtcDay
  /** What the requests named, where no model of that name is known and `model` says so; else `null`. */
  readonly requestedModel: string | null
  /** Whether calls of now would have a price; `null`: gateways do not price alike. */
  readonly hasPriceNow: boolean | null
}

/**
 * Whether a price that the model has now would be one for these calls: not where they reported nothing to
 * price.
 */
export function couldBePriced(reason: string | null): boolean {
  return !reportedNoFigures(reason) && reason !== 'invalid_usage' && reason !== 'contradictory_usage'
}

/** What people call its model: for an unknown model the name in the requests. */
export function nameUnpriced({
  model,
  requestedModel,
}: Pick<UnpricedUse, 'model' | 'requestedModel'>): string {
  return requestedModel === null ? model : `${requestedModel} ${model}`
}

/** It as JSON, the same on the command line and over HTTP. */
export function renderUnpriced(use: UnpricedUse) {
  return {
    model: use.model,
    provider: use.provider,
    upstream: use.upstream,
    service_tier: use.serviceTier,
    method: use.method,
    path: use.path,
    reason: use.reason,
    calls: Number(use.calls),
    input_tokens: Number(use.inputTokens),
    output_tokens: Number(use.outputTokens),
    first_day: use.firstDay,
    last_day: use.lastDay,
    has_price_now: use.hasPriceNow,
    ...(use.requestedModel === null ? {} : { requested_model: use.requestedModel }),
  }
}
