import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  BILLED_UNITS,
  type BilledUnits,
  countsBy,
  MAX_COUNT,
  NO_UNITS,
  NO_USAGE,
  TOKEN_CLASSES,
  type TokenUsage,
} from '../../src/call/usage.ts'
import { buildLinearPrice, buildPartsPrice, buildReportedPrice } from '../../src/pricing/price.ts'
import { contradiction } from '../../src/pricing/price-contradiction.ts'
import { costOf, costOfSums, sumsOfCall, type UsageSums } from '../../src/pricing/price-cost.ts'
import { type LinearDefinition, PRICE_VARIANTS } from '../../src/pricing/price-definition.ts'
import { parsePrice } from '../../src/pricing/price-parse.ts'
import { RATE_CLASSES, type Rates } from '../../src/pricing/price-rates.ts'

const SONNET: LinearDefinition = {
  basis: 'linear',
  source: 'genai-prices@0.1.8',
  provider: 'anthropic',
  model: 'claude-sonnet-4-6',
  from: '2026-03-13',
  context: null,
  hours: null,
  serviceTier: null,
  serviceTierPriced: true,
  factor: '1',
  variant: null,
  rates: {
    input: 3_000_000n,
    cacheRead: 300_000n,
    cacheWrite: 3_750_000n,
    cacheWrite1h: 6_000_000n,
    output: 15_000_000n,
    webSearch: 10_000_000_000n,
  },
}

function usage(counts: Partial<TokenUsage>): TokenUsage {
  return { ...NO_USAGE, ...counts }
}

test('every class of a Claude call is billed at its own price, cached tokens not twice', () => {
  // 1,000 plain, 2,000 read, 300 written for 5 minutes, 200 for an hour, 100 out, one search.
  const cost = costOf(
    buildLinearPrice(SONNET),
    usage({
      inputTokens: 3_500,
      cacheReadTokens: 2_000,
      cacheWriteTokens: 500,
      cacheWrite5mTokens: 300,
      cacheWrite1hTokens: 200,
      outputTokens: 100,
    }),
    { ...NO_UNITS, webSearches: 1 },
  )
  expect(cost).toBe(
    3_000_000_000n + 600_000_000n + 1_125_000_000n + 1_200_000_000n + 1_500_000_000n + 10n ** 10n,
  )
})

test('a cache write whose lifetime was not said costs what the short one does', () => {
  const price = buildLinearPrice(SONNET)
  expect(costOf(price, usage({ inputTokens: 10, cacheWriteTokens: 10 }), NO_UNITS)).toBe(37_500_000n)
})

test('a class without a price of its own costs what the class it is part of costs', () => {
  const price = buildLinearPrice({ ...SONNET, rates: { input: 5n, output: 7n } })
  const parts = { cacheReadTokens: 3, cacheWriteTokens: 4, cacheWrite1hTokens: 2, reasoningTokens: 9 }
  expect(costOf(price, usage({ inputTokens: 10, outputTokens: 20, ...parts }), NO_UNITS)).toBe(190n)
  const audio = buildLinearPrice({ ...SONNET, rates: { input: 5n, cacheRead: 1n, audioInput: 50n } })
  const cachedAudio = { cacheReadTokens: 1, audioInputTokens: 1, cacheReadAudioTokens: 1 }
  expect(costOf(audio, usage({ inputTokens: 1, ...cachedAudio }), NO_UNITS)).toBe(50n)
})

test('cached sound and pictures cost their own rate, and neither that of what is cached nor that of their kind', () => {
  const kinds: Rates = { input: 5n, cacheRead: 1n, audioInput: 50n, imageInput: 60n }
  const apart = buildLinearPrice({ ...SONNET, rates: { ...kinds, cacheReadAudio: 7n, cacheReadImage: 8n } })
  const sound = { inputTokens: 1, cacheReadTokens: 1, audioInputTokens: 1, cacheReadAudioTokens: 1 }
  const picture = { inputTokens: 1, cacheReadTokens: 1, imageInputTokens: 1, cacheReadImageTokens: 1 }
  expect(costOf(apart, usage(sound), NO_UNITS)).toBe(7n)
  expect(costOf(apart, usage(picture), NO_UNITS)).toBe(8n)
  const inKind = buildLinearPrice({ ...SONNET, rates: kinds })
  expect(costOf(inKind, usage(picture), NO_UNITS)).toBe(60n)
  const cached = buildLinearPrice({ ...SONNET, rates: { input: 5n, cacheRead: 1n } })
  expect(costOf(cached, usage(picture), NO_UNITS)).toBe(1n)
})

test('reasoning that is counted beside the output costs its rate on top', () => {
  const rates: Rates = { input: 2n, output: 8n, reasoning: 3n }
  const counts = usage({ outputTokens: 10, reasoningTokens: 100 })
  const beside = buildLinearPrice({ ...SONNET, rates, variant: 'reasoning-beside' })
  expect(costOf(beside, counts, NO_UNITS)).toBe(380n)
  const inside = buildLinearPrice({ ...SONNET, rates })
  expect(costOf(inside, usage({ outputTokens: 110, reasoningTokens: 100 }), NO_UNITS)).toBe(380n)
})

test('the largest counts at the highest prices stay exact', () => {
  const price = buildLinearPrice({
    ...SONNET,
    rates: { input: 600_000_000n, cacheRead: 1n, output: 600_000_001n },
  })
  const counts = usage({
    inputTokens: MAX_COUNT,
    outputTokens: MAX_COUNT - 1,
    cacheReadTokens: MAX_COUNT - 2,
  })
  const most = BigInt(MAX_COUNT)
  expect(costOf(price, counts, NO_UNITS)).toBe(2n * 600_000_000n + (most - 2n) + 600_000_001n * (most - 1n))
})

const rates: fc.Arbitrary<Rates> = fc
  .record(Object.fromEntries(RATE_CLASSES.map((name) => [name, fc.bigInt({ min: 0n, max: 10n ** 15n })])), {
    requiredKeys: [],
  })
  .map((record) => record as Rates)
const count = fc.option(fc.integer({ min: 0, max: 2 ** 30 }), { nil: null })
const anyUsage = fc.record<TokenUsage>(countsBy(TOKEN_CLASSES, () => count))
const anyUnits = fc.record<BilledUnits>(countsBy(BILLED_UNITS, () => count))

test('searches of many calls cost what those of each do', () => {
  const price = buildLinearPrice(SONNET)
  const counts = usage({ inputTokens: 10, outputTokens: 2 })
  const units = { ...NO_UNITS, webSearches: 3 }
  const cost = costOf(price, counts, units)
  expect(cost).toBe(30_000_000n + 30_000_000n + 30_000_000_000n)
  expect(costOfSums(price, sumsOfCall(counts, units))).toBe(cost)
})

test('the cost of summed counts is the sum of the costs, for any price and any counts', () => {
  fc.assert(
    fc.property(
      rates,
      fc.array(fc.tuple(anyUsage, anyUnits), { minLength: 1, maxLength: 10 }),
      (given, calls) => {
        const price = buildLinearPrice({ ...SONNET, rates: given })
        const sum = (name: string) =>
          calls.reduce((total, [tokens, units]) => {
            const counts: Readonly<Record<string, number | null>> = { ...tokens, ...units }
            return total + BigInt(counts[name] ?? 0)
          }, 0n)
        const sums = {
          requests: BigInt(calls.length),
          ...Object.fromEntries([...TOKEN_CLASSES, ...BILLED_UNITS].map((name) => [name, sum(name)])),
        } as UsageSums
        const costs = calls.map(([tokens, units]) => costOf(price, tokens, units))
        expect(costOfSums(price, sums)).toBe(costs.reduce((total, cost) => total + cost, 0n))
      },
    ),
    { seed: 4, numRuns: 500 },
  )
})

test('the id names the definition: the same one everywhere, another for any difference', () => {
  expect(buildLinearPrice(SONNET).id).toBe('anthropic/claude-sonnet-4-6@2026-03-13#std.1ff7dce6dcc0')
  const { input, ...others } = SONNET.rates
  const reordered = buildLinearPrice({
    ...SONNET,
    rates: { ...others, ...(input === undefined ? {} : { input }) },
  })
  expect(reordered.id).toBe(buildLinearPrice(SONNET).id)
  const different: LinearDefinition[] = [
    { ...SONNET, source: 'genai-prices@0.1.9' },
    { ...SONNET, provider: 'aws' },
    { ...SONNET, model: 'claude' },
    { ...SONNET, from: null },
    { ...SONNET, context: { above: 0, upTo: 200_000 } },
    { ...SONNET, context: { above: 200_000, upTo: null } },
    { ...SONNET, hours: '00:30-16:30' },
    { ...SONNET, serviceTier: 'flex' },
    { ...SONNET, serviceTier: 'flex', serviceTierPriced: false },
    { ...SONNET, factor: '1.1' },
    { ...SONNET, variant: 'no-request-fee' },
    { ...SONNET, rates: { ...SONNET.rates, output: 15_000_001n } },
    { ...SONNET, rates: { ...SONNET.rates, request: 0n } },
  ]
  const ids = new Set([SONNET, ...different].map((definition) => buildLinearPrice(definition).id))
  expect(ids.size).toBe(different.length + 1)
})

test('an id is at most 128 bytes of plain characters, however long or odd the names', () => {
  const names = ['x'.repeat(500), 'modèle ☃\n\0"', '../../etc', '']
  for (const model of names) {
    const { id } = buildLinearPrice({ ...SONNET, model, provider: model, hours: '00:30:15.123-16:30:15.123' })
    expect(Buffer.byteLength(id)).toBeLessThanOrEqual(128)
    expect(id).toMatch(/^[!-~]+\.[0-9a-f]{12}$/)
  }
})

test('a price read back from its JSON is the same price', () => {
  const prices = [
    buildLinearPrice(SONNET),
    ...PRICE_VARIANTS.map((variant) =>
      buildLinearPrice({ ...SONNET, variant, from: null, serviceTier: 'flex' }),
    ),
    buildLinearPrice({ ...SONNET, context: { above: 200_000, upTo: null }, hours: 'other', factor: '0.85' }),
    buildReportedPrice({ basis: 'reported', provider: 'openrouter', factor: '1' }),
    buildPartsPrice({ basis: 'parts', prices: ['b.1', 'a.2', 'b.1'] }),
  ]
  for (const price of prices) {
    const again = parsePrice(price.json)
    expect(again).toEqual(
      price.definition.basis === 'parts' ? { ...price, definition: again?.definition } : price,
    )
    expect(again?.json).toBe(price.json)
  }
})

test('text that is not a price gives none, and never an error', () => {
  const broken = [
    '',
    'null',
    '[]',
    '{}',
    '{"basis":"free"}',
    '{"basis":"reported","provider":1,"factor":"1"}',
    '{"basis":"parts","prices":[1]}',
    buildLinearPrice(SONNET).json.replace('"3000000"', '"-1"'),
    buildLinearPrice(SONNET).json.replace('"3000000"', '3000000'),
    buildLinearPrice(SONNET).json.replace('"cacheRead"', '"cachedRead"'),
    buildLinearPrice(SONNET).json.replace('"variant":null', '"variant":"half"'),
    buildLinearPrice(SONNET).json.slice(0, -1),
  ]
  for (const json of broken) expect(parsePrice(json), json).toBeNull()
})

test('parts larger than their whole, and counts that are none, are contradictions and never a credit', () => {
  const price = buildLinearPrice({
    ...SONNET,
    rates: { ...SONNET.rates, audioInput: 9n, cacheReadAudio: 1n, audioOutput: 9n, reasoning: 1n },
  })
  const of = (counts: Partial<TokenUsage>, units: Partial<BilledUnits> = {}) =>
    contradiction(price.terms, usage(counts), { ...NO_UNITS, ...units }, false)
  const wrong: Partial<TokenUsage>[] = [
    { inputTokens: -1 },
    { inputTokens: 0.5 },
    { outputTokens: Number.NaN },
    { outputTokens: 2 ** 53 },
    { inputTokens: 10, cacheReadTokens: 11 },
    { inputTokens: 10, cacheReadTokens: 6, cacheWriteTokens: 5 },
    { cacheReadTokens: 1 },
    { inputTokens: 10, cacheWriteTokens: 1, cacheWrite1hTokens: 2 },
    { inputTokens: 10, audioInputTokens: 11 },
    { inputTokens: 10, audioInputTokens: 5, cacheReadTokens: 5, cacheReadAudioTokens: 6 },
    { outputTokens: 1, audioOutputTokens: 2 },
    { outputTokens: 1, reasoningTokens: 2 },
  ]
  for (const counts of wrong) expect(of(counts), JSON.stringify(counts)).not.toBeNull()
  expect(of({}, { webSearches: -1 })).not.toBeNull()
  expect(of({ inputTokens: 10, cacheReadTokens: 5, cacheWriteTokens: 5, audioInputTokens: 10 })).toBeNull()
  expect(of({})).toBeNull()
})

test('a count that is none is found in every class and unit', () => {
  const { terms } = buildLinearPrice({ ...SONNET, rates: {} })
  for (const name of TOKEN_CLASSES) {
    expect(contradiction(terms, usage({ [name]: Number.NaN }), NO_UNITS, false), name).not.toBeNull()
  }
  for (const name of BILLED_UNITS) {
    expect(contradiction(terms, NO_USAGE, { ...NO_UNITS, [name]: -1 }, false), name).not.toBeNull()
  }
})

test('parts that have no price of their own may be of any size: nothing hangs on them', () => {
  const price = buildLinearPrice({ ...SONNET, rates: { input: 1n, output: 1n } })
  const odd = usage({
    inputTokens: 1,
    audioInputTokens: 5,
    outputTokens: 1,
    reasoningTokens: 9,
    imageOutputTokens: 2,
  })
  expect(contradiction(price.terms, odd, NO_UNITS, false)).toBeNull()
  expect(costOf(price, odd, NO_UNITS)).toBe(2n)
})
