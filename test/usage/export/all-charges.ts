import type { CallRecord } from '../../../src/call/call-record.ts'
import {
  BILLED_UNITS,
  type BilledUnits,
  countsBy,
  NO_UNITS,
  NO_USAGE,
  TOKEN_CLASSES,
  type TokenUsage,
} from '../../../src/call/usage.ts'
import {
  buildLinearPrice,
  buildPartsPrice,
  buildReportedPrice,
  buildUnpricedTier,
  type LinearPrice,
} from '../../../src/pricing/price.ts'
import { costOf } from '../../../src/pricing/price-cost.ts'
import type { LinearDefinition } from '../../../src/pricing/price-definition.ts'
import { RATE_CLASSES } from '../../../src/pricing/price-rates.ts'
import { PROVIDERS } from '../../../src/providers/registry.ts'

const RATES = Object.fromEntries(RATE_CLASSES.map((name, index) => [name, 1_234_567n + BigInt(index)]))

function priceOf(provider: string, changes: Partial<LinearDefinition> = {}): LinearPrice {
  return buildLinearPrice({
    ...{ basis: 'linear', source: 'yaml', provider, model: 'gpt-4o', from: null, context: null, hours: null },
    ...{ serviceTier: null, serviceTierPriced: true, factor: '1', variant: null, rates: RATES },
    ...changes,
  })
}

/** A token of each class and a unit of each kind, and some plain tokens. */
const USAGE: TokenUsage = {
  ...countsBy(TOKEN_CLASSES, () => 1),
  ...{ inputTokens: 1_009, outputTokens: 307, cacheReadTokens: 7, cacheWriteTokens: 5, audioInputTokens: 3 },
}
const UNITS: BilledUnits = countsBy(BILLED_UNITS, (name) => name.length)

/** Calls of each kind of charge: each provider, class, tier, kind of price, and none. */
export function callsOfAllCharges(): readonly Partial<CallRecord>[] {
  const priced = [
    ...PROVIDERS.map((provider) => ({ provider, price: priceOf(provider) })),
    ...['batch', 'flex', 'priority', 'batch+us'].map((serviceTier) => ({
      provider: 'openai',
      price: priceOf('openai', { serviceTier, factor: '1.2', source: 'genai-prices@0.1.8' }),
    })),
    {
      provider: 'google',
      price: priceOf('google', {
        context: { above: 200_000, upTo: null },
        from: '2026-01-01',
        factor: '0.93',
      }),
    },
    { provider: 'deepseek', price: priceOf('deepseek', { hours: '00:30-16:30' }) },
    { provider: 'anthropic', price: priceOf('anthropic', { unpriced: ['webFetch'] }) },
  ]
  return [
    ...priced.map(({ provider, price }) => ({
      ...{ provider, upstream: `${provider}-eu`, model: 'gpt-4o-2024-08-06', usage: USAGE, units: UNITS },
      ...{ costPico: `${costOf(price, USAGE, UNITS)}`, priceId: price.id, price: price.json },
    })),
    ...[
      buildReportedPrice({ basis: 'reported', provider: 'openrouter', factor: '1' }),
      buildPartsPrice({ basis: 'parts', prices: ['a', 'b'] }),
    ].map((price) => ({ costPico: '123456789', priceId: price.id, price: price.json })),
    { costPico: '77', priceId: 'its-definition-is-lost', price: null },
    ...['gpt-unknown', '(unknown)', '(other)', '=HYPERLINK("x")'].map((model) => ({
      ...{ model, costPico: null, priceId: null },
    })),
    { costPico: null, priceId: buildUnpricedTier('scale').id, price: buildUnpricedTier('scale').json },
    // Nothing to price.
    { costPico: '0', priceId: null, usage: NO_USAGE, units: NO_UNITS, status: 401 },
    { upstream: '', provider: '', model: '(none)', costPico: '0', priceId: null, status: 404 },
  ]
}
