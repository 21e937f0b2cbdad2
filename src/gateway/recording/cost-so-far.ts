import type { CallResult } from './call-result.ts'
import { priceResult } from './price-result.ts'
import type { PricedCall, QuotingPricing } from './pricing.ts'

/**
 * What a call under way has cost by what it reported; `null`: it reported nothing yet. No record is made of it, so the
 * definition of its price is left for one.
 */
export function costSoFar(result: CallResult, pricing: QuotingPricing): PricedCall | null {
  const { observation } = result
  if (observation === null || observation.usageSource === 'none') return null
  const { usage, usageSource } = observation
  return priceResult(result, observation, usage, usageSource, { priceCall: pricing.quoteCall })
}
