import { expect, test } from 'vitest'
import type { UsagePart } from '../../src/call/observation.ts'
import { type BilledUnits, NO_UNITS, NO_USAGE, type TokenUsage } from '../../src/call/usage.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import type { CallToPrice, PriceOfCall } from '../../src/pricing/catalog/catalog-call.ts'
import { isPartly } from '../../src/pricing/price.ts'
import { parsePrice } from '../../src/pricing/price-parse.ts'
import { type PastCall, repriceCall } from '../../src/pricing/repricing/repricing.ts'

const catalog = buildCatalog()
const TOKENS = { inputTokens: 1_000, outputTokens: 500 }

interface Asked {
  readonly usage?: Partial<TokenUsage>
  readonly units?: Partial<BilledUnits>
  readonly parts?: readonly UsagePart[]
  readonly serviceTier?: string
  readonly on?: string
}

function priceOf(provider: string, model: string, asked: Asked): PriceOfCall {
  const call: CallToPrice = {
    provider,
    upstream: 'up',
    clientName: null,
    model,
    requestedModel: null,
    usage: { ...NO_USAGE, ...TOKENS, ...asked.usage },
    units: { ...NO_UNITS, ...asked.units },
    serviceTier: asked.serviceTier ?? null,
    arrivedAtMs: Date.parse(`${asked.on ?? '2026-11-22'}T12:00:00Z`),
    reportedCostPico: null,
    parts: asked.parts ?? null,
  }
  return catalog.priceCall(call)
}

/** US dollars above the same call without `asked`, and whether that is all of it. */
function extra(provider: string, model: string, asked: Asked): string {
  const [plain, whole] = [priceOf(provider, model, {}), priceOf(provider, model, asked)]
  if (plain.kind !== 'priced' || whole.kind !== 'priced') return 'unpriced'
  const dollars = Number(whole.costPico - plain.costPico) / 1e12
  return `${dollars}${isPartly(whole.price) ? ' partly' : ''}`
}

const units = (counts: Partial<BilledUnits>): Asked => ({ units: counts })

test.each<[string, string, Partial<BilledUnits>, string]>([
  ['openai', 'gpt-5', { fileSearches: 1 }, '0.0025'],
  ['openai', 'gpt-5', { codeRuns: 1 }, '0.03'],
  ['openai', 'gpt-4.1', { codeRuns: 16 }, '0.48'],
  ['openai', 'o3-deep-research', { webSearches: 1, codeRuns: 1 }, '0.04'],
  ['azure-openai', 'gpt-5', { codeRuns: 1 }, '0.033'],
  ['azure-ai', 'claude-opus-5', { webSearches: 1, webFetches: 9 }, '0.01'],
  ['anthropic', 'claude-opus-5', { webSearches: 2, webFetches: 9 }, '0.02'],
  ['anthropic', 'claude-opus-5', { codeRuns: 1 }, '0 partly'],
  ['bedrock', 'us.anthropic.claude-sonnet-4-6', { webSearches: 1, webFetches: 1 }, '0.01'],
  ['bedrock', 'openai.gpt-5.5', { webSearches: 1 }, '0.012'],
  ['vertex', 'claude-opus-5', { webFetches: 3 }, '0'],
  ['gemini', 'gemini-2.5-flash', { webSearches: 1, mapSearches: 1 }, '0.06'],
  ['gemini', 'gemini-3.5-flash', { webSearches: 3 }, '0.042'],
  ['vertex', 'gemini-3-flash-preview', { mapSearches: 2 }, '0.028'],
  ['xai', 'grok-4.3', { webSearches: 3, xSearches: 13, codeRuns: 1, fileSearches: 4 }, '0.095'],
  ['xai', 'grok-4.3', { otherToolCalls: 1 }, '0 partly'],
  ['groq', 'openai/gpt-oss-120b', { webSearches: 2 }, '0.01'],
  ['groq', 'openai/gpt-oss-120b', { codeRuns: 1 }, '0 partly'],
  ['perplexity', 'sonar-deep-research', { webSearches: 10, citationTokens: 5_000 }, '0.06'],
  ['mistral', 'mistral-medium-latest', { webSearches: 1 }, '0 partly'],
])('%s %s with %o costs %s more', (provider, model, counts, expected) => {
  expect(extra(provider, model, units(counts))).toBe(expected)
})

test('tools of xAI have no price from before they had one', () => {
  expect(extra('xai', 'grok-4.3', { units: { xSearches: 1 }, on: '2026-01-11' })).toMatch(/partly|unpriced/)
})

test('cache writes for twelve hours cost two and a half times the input, at any tier and size', () => {
  const written = { cacheWriteTokens: 1_000, cacheWrite12hTokens: 1_000 }
  const cost = (asked: Asked) => {
    const answer = priceOf('openai', 'gpt-6-sol', asked)
    return answer.kind === 'priced'
      ? `${answer.costPico}${isPartly(answer.price) ? ' partly' : ''}`
      : answer.reason
  }
  expect(cost({ usage: { ...written, outputTokens: 0 } })).toBe('5000000000')
  expect(cost({ usage: { ...written, outputTokens: 0 }, serviceTier: 'flex' })).toBe('2500000000')
  const large = {
    inputTokens: 300_000,
    outputTokens: 0,
    cacheWriteTokens: 300_000,
    cacheWrite12hTokens: 300_000,
  }
  expect(cost({ usage: large })).toBe('3000000000000')
})

test('a search model of chat pays its search with the request, or has no price', () => {
  const answer = priceOf('openai', 'gpt-4o-search-preview', {})
  expect(answer).toMatchObject({ kind: 'priced', costPico: 32_500_000_000n })
  for (const model of ['gpt-4o-mini-search-preview', 'gpt-4o-mini-search-preview-2025-03-11']) {
    const other = priceOf('openai', model, {})
    if (other.kind === 'priced') expect(other.costPico, model).toBeGreaterThan(25_000_000_000n)
  }
})

test('the older tool of web search is dearer with models that do not reason', () => {
  const searched = (serviceTier: string) =>
    extra('openai', 'gpt-4.1', { units: { webSearches: 2 }, serviceTier })
  expect(searched('default')).toBe('0.02')
  expect(searched('default+search_preview')).toBe('0.05')
})

test('Vercel bills the reasoning of OpenAI’s models beside their output', () => {
  const reasoning = { usage: { reasoningTokens: 300 } }
  expect(extra('vercel-gateway', 'openai/gpt-5', reasoning)).toBe('0.003')
  expect(extra('vercel-gateway', 'google/gemini-2.5-flash', reasoning)).toBe('0')
  expect(extra('openai', 'gpt-5', reasoning)).toBe('0')
})

const DRAWN: UsagePart = {
  model: 'gpt-image-1',
  usage: { ...NO_USAGE, inputTokens: 10, outputTokens: 4_160, imageOutputTokens: 4_160 },
}
const OWN: UsagePart = { model: 'gpt-5', usage: { ...NO_USAGE, ...TOKENS } }
const BOTH = { inputTokens: 1_010, outputTokens: 4_660, imageOutputTokens: 4_160 }

test('pictures of the image generation tool are at the price of the model that drew them', () => {
  const answer = priceOf('openai', 'gpt-5', { usage: BOTH, parts: [OWN, DRAWN] })
  // $0.00625 for the text, 10 at $5 and 4,160 at $40 a million for the picture.
  expect(answer).toMatchObject({ kind: 'priced', costPico: 172_700_000_000n })
})

test('tools without a price in a call of several models leave only their own cost out', () => {
  const part = (model: string, inputTokens: number, outputTokens: number): UsagePart => ({
    model,
    usage: { ...NO_USAGE, inputTokens, outputTokens },
  })
  const parts = [part('openai/gpt-oss-120b', 900, 400), part('llama-3.3-70b-versatile', 100, 100)]
  expect(priceOf('groq', 'groq/compound', { parts })).toMatchObject({
    kind: 'priced',
    costPico: 513_000_000n,
  })
  const searched = priceOf('groq', 'groq/compound', { parts, units: { webSearches: 1 } })
  if (searched.kind !== 'priced') throw new Error(searched.reason)
  expect(searched.costPico).toBe(513_000_000n)
  expect(searched.price.definition).toMatchObject({ basis: 'parts', unpriced: ['webSearch'] })
  expect(isPartly(searched.price)).toBe(true)
  expect(parsePrice(searched.price.json)).toEqual(searched.price)
})

test('a call of several models that has no price is not priced later as if one had served it', () => {
  const unknown = { ...DRAWN, model: 'made-image-1' }
  const answer = priceOf('openai', 'gpt-5', { usage: BOTH, parts: [OWN, unknown] })
  if (answer.kind !== 'unpriced' || answer.tier === undefined) throw new Error(answer.kind)
  expect(answer).toMatchObject({ reason: 'no_price', model: 'made-image-1' })
  const past: PastCall = {
    provider: 'openai',
    upstream: 'up',
    clientName: null,
    reportedModel: 'gpt-5',
    requestedModel: 'gpt-5',
    usage: { ...NO_USAGE, ...BOTH },
    units: NO_UNITS,
    usageSource: 'reported',
    usageRaw: null,
    arrivedAtMs: Date.parse('2026-11-22T12:00:00Z'),
    costPico: null,
    priceId: answer.tier.id,
    unpricedReason: 'no_price',
  }
  expect(repriceCall(catalog, past, answer.tier).kind).toBe('unknown')
})

test('pictures that were drawn are a gap where no output was counted', () => {
  const drawn = priceOf('openai', 'gpt-image-1', { usage: { outputTokens: 0 }, units: { images: 4 } })
  expect(drawn.kind === 'priced' && isPartly(drawn.price)).toBe(true)
  const whole = priceOf('openai', 'gpt-image-1', { units: { images: 4 } })
  expect(whole.kind === 'priced' && isPartly(whole.price)).toBe(false)
  const embedded = priceOf('cohere', 'embed-v4.0', { usage: { outputTokens: 0 }, units: { images: 4 } })
  expect(embedded.kind === 'priced' && isPartly(embedded.price)).toBe(false)
})

test('tokens are a gap of a price that has only a tool of the provider', () => {
  const searched = priceOf('perplexity', 'search', units({ webSearches: 1 }))
  expect(searched.kind === 'priced' && isPartly(searched.price)).toBe(true)
  const spoken = priceOf('openai', 'tts-1', units({ characters: 5 }))
  expect(spoken.kind === 'priced' && isPartly(spoken.price)).toBe(false)
})
