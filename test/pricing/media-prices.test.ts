import { describe, expect, test } from 'vitest'
import { type BilledUnits, NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import type { CallToPrice } from '../../src/pricing/catalog/catalog-call.ts'
import { MEDIA_PRICES } from '../../src/pricing/corrections/media-price-list.ts'
import { parseOverrides } from '../../src/pricing/overrides/price-overrides-parse.ts'

const NOW = Date.UTC(2026, 10, 22, 12)
const catalog = buildCatalog()

function callOf(
  provider: string,
  model: string,
  units: Partial<BilledUnits>,
  serviceTier: string | null = null,
): CallToPrice {
  return {
    provider,
    upstream: provider,
    clientName: null,
    model: null,
    requestedModel: model,
    usage: NO_USAGE,
    units: { ...NO_UNITS, ...units },
    serviceTier,
    arrivedAtMs: NOW,
    reportedCostPico: null,
    parts: null,
  }
}

function costUsd(...call: Parameters<typeof callOf>): number | string {
  const priced = catalog.priceCall(callOf(...call))
  return priced.kind === 'priced' ? Number(priced.costPico) / 1e12 : priced.reason
}

describe('what is billed by other than tokens', () => {
  test('a unit costs its count times the fee, to the picodollar', () => {
    expect(costUsd('openai', 'tts-1', { characters: 1_100 })).toBe(0.0165)
    expect(costUsd('openai', 'sora-2', { videoMs: 8_000 })).toBe(0.8)
    expect(costUsd('gemini', 'models/veo-3.1-generate-preview', { videoMs: 8_000 })).toBe(3.2)
    expect(costUsd('vertex', 'google/imagen-4.0-generate-001', { images: 2 })).toBe(0.08)
    expect(costUsd('bedrock', 'amazon.nova-canvas-v1:0', { images: 1 })).toBe(0.04)
    expect(costUsd('bedrock', 'cohere.rerank-v3-5:0', { searchUnits: 1 })).toBe(0.002)
    expect(costUsd('cohere', 'rerank-v3.5', { searchUnits: 3 })).toBe(0.006)
    expect(costUsd('xai', 'grok-stt', { audioMs: 90_000 })).toBe(0.00250002)
    expect(costUsd('openai', 'container', { codeRuns: 1 })).toBe(0.03)
    expect(costUsd('openai', 'vector-store-search', { fileSearches: 1 })).toBe(0.0025)
    expect(costUsd('perplexity', 'search', { webSearches: 1 })).toBe(0.005)
  })

  test('a picture costs what its size and quality do, and has no known cost at one that is not listed', () => {
    expect(costUsd('openai', 'dall-e-3', { images: 1 }, 'hd_1024x1792')).toBe(0.12)
    expect(costUsd('openai', 'sora-2-pro', { videoMs: 4_000 }, '1024p')).toBe(2)
    expect(costUsd('xai', 'grok-imagine-image-2.0', { images: 1 }, 'low')).toBe(0.04)
    expect(costUsd('xai', 'grok-imagine-image-2.0', { images: 1 })).toBe(0.06)
    expect(costUsd('openai', 'sora-2-pro', { videoMs: 4_000 }, '4k')).toBe('unknown_tier')
  })

  // https://docs.x.ai/developers/migration/imagine-image-quality-nov-2
  test.each([
    'grok-imagine-image-pro',
    'grok-imagine-image-quality',
  ])('%s, which xAI retired, costs a cent less since it is served by its heir', (model) => {
    const call = callOf('xai', model, { images: 1 })
    const on = (day: string) => catalog.priceCall({ ...call, arrivedAtMs: Date.parse(`${day}T12:00:00Z`) })
    expect(on('2026-11-01')).toMatchObject({ costPico: 50_000_000_000n })
    expect(on('2026-11-02')).toMatchObject({ costPico: 40_000_000_000n })
  })

  test('a unit has no price at other providers, nor by a longer name', () => {
    expect(costUsd('openai-compatible', 'tts-1', { characters: 5 })).toBe('no_price')
    expect(costUsd('openai', 'sora-2-mini', { videoMs: 4_000 })).toBe('no_price')
    expect(costUsd('openai', 'tts-1-hd-x', { characters: 5 })).toBe('no_price')
  })

  test('a unit is priced at another host where the operator says whose prices hold there', () => {
    const own = buildCatalog({ pricesOf: new Map([['mirror', 'openai']]) })
    const atMirror = { ...callOf('openai-compatible', 'tts-1', { characters: 1_000 }), upstream: 'mirror' }
    expect(own.priceCall(atMirror)).toMatchObject({ kind: 'priced', costPico: 15_000_000_000n })
  })

  test('the many sizes of a model take no other tier its price', () => {
    const house = { model: 'house', service_tier: 'our-own', input: '1', output: '1', line: 1 }
    const own = buildCatalog({ overrides: parseOverrides([house], []).overrides })
    const price = (call: CallToPrice) => own.priceCall(call)
    for (let steps = 100; steps < 400; steps += 1) {
      price(
        callOf('fireworks', 'accounts/fireworks/models/flux-1-schnell-fp8', { images: 1 }, `${steps}_steps`),
      )
    }
    const usage = { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 0 }
    const ofTier = (provider: string, model: string, tier: string) =>
      price({ ...callOf(provider, model, {}, tier), usage })
    expect(ofTier('openai', 'gpt-5', 'priority')).toMatchObject({ costPico: 2_500_000_000_000n })
    expect(ofTier('anthropic', 'claude-opus-5', 'us+batch')).toMatchObject({ costPico: 2_750_000_000_000n })
    expect(ofTier('openai', 'house', 'our-own')).toMatchObject({ costPico: 1_000_000_000_000n })
  })

  test('a unit’s price is listed once for each model, tier and day, with its page and its day', () => {
    for (const { models, source, seen } of MEDIA_PRICES) {
      expect(models.source).toMatch(/^\^.*\$$/)
      expect(source).toMatch(/^https:\/\//)
      expect(seen).toMatch(/^2026-\d\d-\d\d$/)
    }
    const keys = MEDIA_PRICES.flatMap(({ providers, models, tier, from }) =>
      providers.map((provider) => `${provider} ${models.source} ${tier} ${from}`),
    )
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
  })
})
