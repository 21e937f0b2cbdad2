import { reportedNoFigures } from '../call/unpriced-reason.ts'
import type { UnpricedUse } from './unpriced-use.ts'

/**
 * Calls without a cost, and whether the same calls would have a price now; `null`: gateways price
 * differently.
 */
export interface CheckedUse extends UnpricedUse {
  readonly hasPriceNow: boolean | null
}

/** Whether calls with this model would have a price now. */
export type HasPrice = (
  provider: string,
  upstream: string,
  model: string,
  serviceTier: string | null,
) => boolean

/** @param hasPrice `null`: gateways price differently, so it is not known. */
export function checkPrices(uses: readonly UnpricedUse[], hasPrice: HasPrice | null): readonly CheckedUse[] {
  return uses.map((use) => {
    if (hasPrice === null) return { ...use, hasPriceNow: null }
    const { reason, provider, upstream, model, requestedModel, serviceTier } = use
    const hasPriceNow =
      couldBePriced(reason) && hasPrice(provider, upstream, requestedModel ?? model, serviceTier)
    return { ...use, hasPriceNow }
  })
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
export function renderUnpriced(use: CheckedUse) {
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
