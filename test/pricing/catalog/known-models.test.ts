import { expect, test } from 'vitest'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { findKnownGap } from '../../../src/pricing/corrections/known-gaps.ts'

const catalog = buildCatalog()
const AT = Date.parse('2026-11-25T12:00:00Z')

/** Dollars a million of each class for small prompts, and where from; `null`: it has no price. */
function pricesOf(provider: string, model: string, serviceTier: string | null = null, atMs = AT) {
  const query = { provider, upstream: 'up', clientName: null, model, serviceTier, atMs }
  const found = catalog.findPrices(query)?.prices.tiers
  if (found === undefined) return null
  return found.map(({ usual: { definition } }) => ({
    source: definition.source,
    ...Object.fromEntries(Object.entries(definition.rates).map(([rate, pico]) => [rate, Number(pico) / 1e6])),
  }))
}

test.each([
  ['anthropic', 'claude-mythos-5'],
  ['anthropic', 'claude-mythos-5-1'],
  ['gemini', 'gemini-3.8-live-extended-thinking'],
  ['gemini', 'gemini-3.8-live'],
  ['gemini', 'gemini-3.5-transcribe'],
  ['gemini', 'gemini-3.5-transcribe-live'],
  ['gemini', 'gemini-3.5-live-translate-preview'],
  ['xai', 'grok-4.20-reasoning'],
  ['xai', 'grok-4.20-non-reasoning'],
  ['xai', 'grok-4.20-0309-reasoning'],
  ['mistral', 'mistral-small-latest'],
  ['mistral', 'ministral-14b-latest'],
  ['mistral', 'codestral-embed'],
  ['openai', 'gpt-4o-mini-search-preview'],
  ['openai', 'gpt-5-search-api'],
  ['openai', 'gpt-5.5-cyber'],
  ['openai', 'gpt-image-2.5-flare'],
  ['openai', 'gpt-image-2.5-sunburst'],
  ['openai', 'chatgpt-image-latest'],
  ['zai', 'glm-5.1'],
  ['zai', 'glm-4.5-air'],
  ['zai', 'glm-4.6v'],
  ['bedrock', 'anthropic.claude-opus-5'],
  ['gemini', 'gemma-4-26b-a4b-it'],
])('%s/%s, which several lists have, has a price or stands among the known gaps', (provider, model) => {
  expect(pricesOf(provider, model) ?? findKnownGap(provider, model)?.why).toBeTruthy()
})

test('Gemini for long prompts costs twice as much at Vertex, too, by each of its names', () => {
  for (const model of ['gemini-3.1-pro-preview', 'gemini-3.1-pro-preview-customtools'])
    expect(pricesOf('vertex', model), model).toMatchObject([
      { input: 2, cacheRead: 0.2, output: 12 },
      { input: 4, cacheRead: 0.4, output: 18 },
    ])
})

test('Claude Mythos Preview costs more than twice what its successor does', () => {
  expect(pricesOf('anthropic', 'claude-mythos-preview')).toMatchObject([
    { input: 25, cacheRead: 2.5, cacheWrite: 31.25, cacheWrite1h: 50, output: 125 },
  ])
})

test.each<[string, string, readonly object[]]>([
  ['openai', 'gpt-4o-realtime-preview-2024-10-01', [{ audioInput: 100, audioOutput: 200 }]],
  ['azure-openai', 'gpt-4o-realtime-preview-2024-10-01', [{ audioInput: 100, audioOutput: 200 }]],
  ['fireworks', 'accounts/fireworks/routers/kimi-k3-us', [{ input: 4.5, output: 22.5 }]],
  ['moonshotai', 'kimi-k3.1-pro', [{ cacheWrite: 2, cacheWrite1h: 4 }]],
  [
    'xai',
    'grok-code-fast-1',
    [
      { input: 1, output: 2 },
      { input: 2, output: 4 },
    ],
  ],
])('%s/%s costs what its maker says, not what a source has of its like', (provider, model, prices) => {
  expect(pricesOf(provider, model)).toMatchObject(prices)
})

test('tuned models have cached tokens and batches of their own', () => {
  const tuned = 'ft:gpt-4.1-2025-04-14:acme::x'
  expect(pricesOf('openai', tuned)).toMatchObject([{ input: 3, cacheRead: 0.75, output: 12 }])
  expect(pricesOf('openai', tuned, 'batch')).toMatchObject([{ input: 1.5, output: 6 }])
  expect(pricesOf('openai', 'ft:gpt-4o-2024-08-06:acme::x')).toMatchObject([
    { input: 3.75, cacheRead: 1.875, output: 15 },
  ])
})

test('tiers are those that the source of the model lists', () => {
  expect(pricesOf('openai', 'gpt-4.1', 'fast')).toMatchObject([{ input: 3.5, cacheRead: 0.875, output: 14 }])
  // Of these the source has no sizes of prompt at that tier.
  expect(pricesOf('openai', 'gpt-5.4', 'fast')?.[0]).toMatchObject({ input: 5, cacheRead: 0.5, output: 30 })
  expect(pricesOf('openai', 'gpt-5.5', 'fast')?.[0]).toMatchObject({
    input: 12.5,
    cacheRead: 1.25,
    output: 75,
  })
  // Cached tokens cost the same in a batch, and are not halved as the others.
  expect(pricesOf('groq', 'openai/gpt-oss-120b', 'batch')).toMatchObject([{ input: 0.075, cacheRead: 0.075 }])
  // What the source does not list of the tier has our factor.
  expect(pricesOf('openai', 'gpt-4.1', 'batch')).toMatchObject([{ input: 1, cacheRead: 0.25, output: 4 }])
  const day = Date.parse('2026-10-01T12:00:00Z')
  expect(pricesOf('openai', 'gpt-4.1', 'fast', day)).toBeNull()
})

test('a factor of its own for cached tokens ends at the size of prompt where the list says so', () => {
  const day = Date.parse('2026-10-01T12:00:00Z')
  for (const at of [AT, day]) {
    expect(pricesOf('openai', 'gpt-5.4', 'flex', at)?.map((price) => Object(price).cacheRead)).toEqual([
      0.13, 0.25,
    ])
  }
})

test("Anthropic's caches are priced by its rule until a list has those of a new model, and the price says so", async () => {
  const { parseCatalog } = await import('../../../src/pricing/sources/catalog-parse.ts')
  const model = {
    id: 'claude-opus-9',
    match: { equals: 'claude-opus-9' },
    prices: { input_mtok: 4, output_mtok: 20 },
  }
  const { entries } = parseCatalog([{ id: 'anthropic', models: [model] }], 'a@1')
  if (entries === null) throw new Error('not a catalog')
  const query = {
    provider: 'anthropic',
    upstream: 'up',
    clientName: null,
    model: 'claude-opus-9',
    serviceTier: null,
  }
  const found = buildCatalog({ entries }).findPrices({ ...query, atMs: AT })?.prices.tiers[0]?.usual
    .definition
  expect(found).toMatchObject({
    source: 'a@1+by-rule',
    rates: { cacheRead: 400_000n, cacheWrite: 5_000_000n, cacheWrite1h: 8_000_000n },
  })
  expect(pricesOf('anthropic', 'claude-sonnet-5-5')?.[0]?.source).not.toContain('by-rule')
})

test("DeepSeek's peak hours rest on China's public holidays", () => {
  const at = (moment: string) =>
    Object(pricesOf('deepseek', 'deepseek-flash', null, Date.parse(moment))?.[0]).input
  expect(at('2026-10-05T02:00:00Z')).toBe(0.15)
  expect(at('2026-10-12T02:00:00Z')).toBe(0.3)
  expect(at('2026-10-10T02:00:00Z')).toBe(0.15)
})

test('a past day has the price of that day, where it is known when it changed', () => {
  const input = (provider: string, model: string, day: string) =>
    Object(pricesOf(provider, model, null, Date.parse(`${day}T12:00:00Z`))?.[0]).input
  expect(['2026-08-19', '2026-08-20'].map((day) => input('gemini', 'gemini-3.6-flash', day))).toEqual([
    1.5, 0.75,
  ])
  expect(
    ['2026-01-01', '2026-02-01', '2026-06-01', '2026-08-01', '2026-11-01'].map((day) =>
      input('gemini', 'gemini-flash-latest', day),
    ),
  ).toEqual([0.3, 0.5, 1.5, 1.5, 0.75])
})
