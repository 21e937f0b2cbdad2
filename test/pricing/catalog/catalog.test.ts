import { expect, test } from 'vitest'
import { type BilledUnits, NO_UNITS, NO_USAGE, type TokenUsage } from '../../../src/call/usage.ts'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import type { CallToPrice, PriceOfCall } from '../../../src/pricing/catalog/catalog-call.ts'
import {
  CATALOG_PROVIDER_IDS,
  catalogPlaces,
  OTHER_PROVIDER_IDS,
  PRICED_PROVIDERS,
} from '../../../src/pricing/catalog/catalog-providers.ts'
import { TIER_PRICES } from '../../../src/pricing/corrections/service-tiers.ts'
import { parsePrice } from '../../../src/pricing/price-parse.ts'
import { bundledEntries } from '../../../src/pricing/sources/catalog-bundle.ts'
import { PROVIDERS } from '../../../src/providers/registry.ts'

const catalog = buildCatalog()
/** The first source alone: how names match is its test, what other sources list is theirs. */
const firstSource = buildCatalog({ entries: bundledEntries() })

function callOf(call: Partial<Omit<CallToPrice, 'usage'>> & { usage?: Partial<TokenUsage> }): CallToPrice {
  return {
    provider: 'openai',
    upstream: 'up',
    clientName: null,
    model: null,
    requestedModel: null,
    units: NO_UNITS,
    serviceTier: null,
    arrivedAtMs: Date.parse('2026-11-20T12:00:00Z'),
    reportedCostPico: null,
    parts: null,
    ...call,
    usage: { ...NO_USAGE, ...call.usage },
  }
}

/** `<cost in pico-USD> <price id without its hash>`, or why there is none. */
function described(answer: PriceOfCall): string {
  return answer.kind === 'priced'
    ? `${answer.costPico} ${answer.priceId.replace(/\.[0-9a-f]{12}$/, '')}`
    : answer.reason
}

function priced(call: Parameters<typeof callOf>[0]): string {
  return described(catalog.priceCall(callOf(call)))
}

/** The catalog's model that a name at a provider is, by one input token. */
function modelAt(
  provider: string,
  model: string | null,
  requestedModel: string | null = null,
  among = catalog,
): string {
  const answer = among.priceCall(callOf({ provider, model, requestedModel, usage: { inputTokens: 1 } }))
  if (answer.kind === 'unpriced') return answer.reason
  const { definition } = answer.price
  return definition.basis === 'linear' ? `${definition.provider}/${definition.model}` : definition.basis
}

test('a gpt-4o call costs what the price list says', () => {
  // 800 at $2.50, 200 cached at $1.25, 100 at $10 a million.
  const usage = { inputTokens: 1_000, cacheReadTokens: 200, outputTokens: 100 }
  expect(priced({ model: 'gpt-4o-2024-08-06', usage })).toBe('3250000000 openai/gpt-4o#std')
})

test('a Claude call pays each lifetime of cache writes at its own price', () => {
  // 400 at $3, 200 read at $0.30, 100 for 5 minutes at $3.75, 300 for an hour at $6, 100 out at $15.
  const usage = {
    inputTokens: 1_000,
    cacheReadTokens: 200,
    cacheWriteTokens: 400,
    cacheWrite5mTokens: 100,
    cacheWrite1hTokens: 300,
    outputTokens: 100,
  }
  expect(priced({ provider: 'anthropic', model: 'claude-sonnet-4-5-20250929', usage })).toBe(
    '4935000000 anthropic/claude-sonnet-4-5#std<200000',
  )
})

test('what many requests used has a price only where each prompt is known to have been short', () => {
  const usage = { inputTokens: 500_000, outputTokens: 10 }
  const sum = (largestPrompt?: number | null, model = 'gemini-2.5-pro') =>
    described(catalog.priceCall(callOf({ provider: 'gemini', model, usage, largestPrompt })))
  expect(sum(200_000)).toBe('625100000000 google/gemini-2.5-pro#std<200000')
  expect(sum(200_001)).toBe('use_without_price')
  expect(sum(null)).toBe('use_without_price')
  expect(sum()).toContain('#std>200000')
  // One price for all lengths.
  expect(sum(null, 'gemini-2.5-flash')).toBe(sum(undefined, 'gemini-2.5-flash'))
})

test('of requests whose prompts are known by size, each has the price of its own', () => {
  const part = (inputTokens: number, shortest: number, longest: number) => ({
    model: 'gemini-2.5-pro',
    usage: { ...NO_USAGE, inputTokens, outputTokens: 0 },
    prompts: { shortest, longest },
  })
  const cost = (...parts: ReturnType<typeof part>[]) => {
    const usage = {
      inputTokens: parts.reduce((sum, one) => sum + (one.usage.inputTokens ?? 0), 0),
      outputTokens: 0,
    }
    return described(
      catalog.priceCall(
        callOf({ provider: 'gemini', model: 'gemini-2.5-pro', usage, parts, largestPrompt: 300_000 }),
      ),
    )
  }
  expect(cost(part(400_000, 10, 9_000), part(600_000, 250_000, 300_000))).toMatch(/^2000000000000 parts/)
  expect(cost(part(400_000, 10, 9_000), part(90_000, 40_000, 50_000))).toBe(
    '612500000000 google/gemini-2.5-pro#std<200000',
  )
  expect(cost(part(400_000, 10, 9_000), part(600_000, 150_000, 250_000))).toBe('use_without_price')
})

test('over 200,000 tokens of prompt a Gemini call is at the higher price, all of it', () => {
  const at = (inputTokens: number) =>
    priced({ provider: 'gemini', model: 'gemini-2.5-pro', usage: { inputTokens, outputTokens: 10 } })
  expect(at(200_000)).toBe('250100000000 google/gemini-2.5-pro#std<200000')
  expect(at(200_001)).toBe('500152500000 google/gemini-2.5-pro#std>200000')
})

test('audio, cached audio and text of a realtime call are billed apart', () => {
  // 100 text at $4, 50 cached text at $0.40, 200 audio at $32, 100 cached audio at $0.40; 30 text at $16, 70 audio at $64.
  const usage = {
    inputTokens: 450,
    cacheReadTokens: 150,
    audioInputTokens: 300,
    cacheReadAudioTokens: 100,
    outputTokens: 100,
    audioOutputTokens: 70,
  }
  expect(priced({ model: 'gpt-realtime', usage })).toBe(
    `${400_000_000n + 20_000_000n + 6_400_000_000n + 40_000_000n + 480_000_000n + 4_480_000_000n} openai/gpt-realtime#std`,
  )
})

test('prices change at midnight UTC of their day', () => {
  const at = (time: string) =>
    priced({ model: 'o3', usage: { inputTokens: 1 }, arrivedAtMs: Date.parse(time) })
  expect(at('2025-06-09T23:59:59.999Z')).toBe('10000000 openai/o3#std')
  expect(at('2025-06-10T00:00:00.000Z')).toBe('2000000 openai/o3@2025-06-10#std')
  // A call that arrived before midnight and is priced after it, and the other way round.
  expect(at('2025-06-09T23:59:59.999Z')).toBe('10000000 openai/o3#std')
})

test('prices by the hour hold from their first millisecond to before their last', () => {
  const at = (time: string) =>
    described(
      firstSource.priceCall(
        callOf({
          provider: 'deepseek',
          model: 'deepseek-chat',
          usage: { inputTokens: 1 },
          arrivedAtMs: Date.parse(`2026-11-20T${time}Z`),
        }),
      ),
    )
  expect(at('00:29:59.999')).toBe('135000 deepseek/deepseek-chat#std+other')
  expect(at('00:30:00.000')).toBe('270000 deepseek/deepseek-chat#std+00:30-16:30')
  expect(at('16:29:59.999')).toBe('270000 deepseek/deepseek-chat#std+00:30-16:30')
  expect(at('16:30:00.000')).toBe('135000 deepseek/deepseek-chat#std+other')
})

test('a transcription at Groq is billed for at least ten seconds, one of no length for none', () => {
  const at = (audioMs: number | null) =>
    priced({ provider: 'groq', model: 'whisper-large-v3', units: { ...NO_UNITS, audioMs } })
  expect(at(1)).toBe('308330000 groq/whisper-large-v3#std+minimum-audio')
  expect(at(9_999)).toBe('308330000 groq/whisper-large-v3#std+minimum-audio')
  expect(at(10_000)).toBe('308330000 groq/whisper-large-v3#std')
  expect(at(20_000)).toBe('616660000 groq/whisper-large-v3#std')
  expect(at(0)).toBe('0 groq/whisper-large-v3#std')
})

test("Perplexity's fee is due for each request that was answered, and not for one that used nothing", () => {
  expect(priced({ provider: 'perplexity', model: 'sonar', usage: { inputTokens: 10 } })).toBe(
    '12010000000 perplexity/sonar#std',
  )
  expect(priced({ provider: 'perplexity', model: 'sonar' })).toBe('0 perplexity/sonar#std+no-request-fee')
})

test("deep research's reasoning is paid on top of its answer", () => {
  const usage = { inputTokens: 33, outputTokens: 7_163, reasoningTokens: 100 }
  expect(priced({ provider: 'perplexity', model: 'sonar-deep-research', usage })).toBe(
    `${33n * 2_000_000n + 7_163n * 8_000_000n + 100n * 3_000_000n} perplexity/sonar-deep-research#std+reasoning-beside`,
  )
})

test('tokens of an Anthropic batch cost half, searches do not', () => {
  const usage = { inputTokens: 1_000, outputTokens: 100 }
  const call = { provider: 'anthropic', model: 'claude-sonnet-4-6', serviceTier: 'batch', usage }
  expect(priced({ ...call, units: { ...NO_UNITS, webSearches: 1 } })).toBe(
    '12250000000 anthropic/claude-sonnet-4-6@2026-03-13#batch',
  )
})

/** What a million tokens of input and of output cost at a tier in dollars, or why it is unknown. */
function tokensAt(provider: string, model: string, serviceTier: string | null): string {
  const dollars = (usage: Partial<TokenUsage>) => {
    const answer = catalog.priceCall(callOf({ provider, model, serviceTier, usage }))
    return answer.kind === 'priced' ? Number(answer.costPico) / 1e10 : answer.reason
  }
  return `${dollars({ inputTokens: 10_000 })} ${dollars({ outputTokens: 10_000 })}`
}

test("a tier is at its own price, by provider and model, as the providers' lists say", () => {
  const cases: [string, string, string | null, string][] = [
    ['openai', 'gpt-6-sol', null, '2 10'],
    ['openai', 'gpt-6-sol', 'batch', '1 5'],
    ['openai', 'gpt-6-sol', 'flex', '1 5'],
    ['openai', 'gpt-6-sol', 'priority', '4 20'],
    ['openai', 'gpt-6-astra', 'ultrafast', '60 300'],
    ['openai', 'gpt-5.5', 'priority', '12.5 75'],
    ['openai', 'gpt-5-mini', 'priority', '0.45 3.6'],
    ['openai', 'gpt-4o-mini', 'priority', '0.25 1'],
    ['openai', 'o4-mini', 'priority', '2 8'],
    ['openai', 'gpt-4.1', 'priority', '3.5 14'],
    ['azure-openai', 'gpt-5.4', 'batch', '1.25 7.5'],
    ['azure-openai', 'gpt-5.4', 'priority', '5 30'],
    ['azure-openai', 'gpt-5.5', 'priority', '12.5 75'],
    ['gemini', 'gemini-2.5-pro', 'batch', '0.625 5'],
    ['gemini', 'gemini-2.5-pro', 'priority', '2.25 18'],
    ['vertex', 'gemini-3.6-flash', 'ON_DEMAND_FLEX', '0.375 1.875'],
    ['anthropic', 'claude-opus-5', null, '5 25'],
    ['anthropic', 'claude-opus-5', 'fast', '10 50'],
    ['anthropic', 'claude-opus-4-6', 'fast', '30 150'],
    ['anthropic', 'claude-opus-5', 'standard+us', '5.5 27.5'],
    ['anthropic', 'claude-opus-5', 'batch+us', '2.75 13.75'],
    ['anthropic', 'claude-opus-5', 'fast+us', '11 55'],
    ['anthropic', 'claude-mythos-5-1', 'us', '11 55'],
    ['xai', 'grok-4.3', 'batch', '1 2'],
    ['mistral', 'mistral-medium-latest', 'batch', '0.75 3.75'],
    ['groq', 'llama-3.3-70b-versatile', 'flex', '0.59 0.79'],
    ['bedrock', 'amazon.nova-pro-v1:0', 'priority', '1.4 5.6'],
    ['bedrock', 'us.anthropic.claude-sonnet-4-6', 'batch', '1.65 8.25'],
  ]
  expect(
    cases.map(([provider, model, tier]) => [provider, model, tier, tokensAt(provider, model, tier)]),
  ).toEqual(cases)
})

test('a tier whose price is unknown is unpriced, never at the list price', () => {
  const cases: [string, string, string][] = [
    ['openai', 'gpt-4o', 'flex'],
    ['openai', 'gpt-6-sol', 'ultrafast'],
    ['openai', 'gpt-6-sol', 'balanced'],
    ['openai', 'gpt-6-sol', 'scale'],
    ['anthropic', 'claude-haiku-4-5', 'fast'],
    ['anthropic', 'claude-haiku-4-5', 'batch+us'],
    ['anthropic', 'claude-opus-5', 'priority'],
    ['vertex', 'gemini-2.5-pro', 'PROVISIONED_THROUGHPUT'],
    ['openrouter', 'openai/gpt-5', 'flex'],
    ['azure-openai', 'gpt-5.5', 'ultrafast'],
    ['bedrock', 'us.anthropic.claude-sonnet-4-6', 'flex'],
  ]
  for (const [provider, model, tier] of cases) {
    expect(tokensAt(provider, model, tier), `${model} ${tier}`).toBe('unknown_tier unknown_tier')
  }
  expect(tokensAt('openai', 'gpt-4o', 'default')).toBe('2.5 10')
})

test('cached tokens have a factor of their own where the list says so', () => {
  const usage = { inputTokens: 1_000_000, cacheReadTokens: 1_000_000 }
  const at = (provider: string, model: string, serviceTier: string) =>
    described(catalog.priceCall(callOf({ provider, model, serviceTier, usage })))
  expect(at('gemini', 'gemini-2.5-flash', 'batch')).toBe('30000000000 google/gemini-2.5-flash#batch')
  expect(at('gemini', 'gemini-3.1-pro-preview-customtools', 'batch')).toMatch(/^400000000000 google/)
  expect(at('openai', 'gpt-5.4', 'flex')).toMatch(/^250000000000 openai\/gpt-5\.4#flex>272000$/)
})

test('each tier has an identity of its own, with and without a price, by its whole name', () => {
  const idOf = (serviceTier: string) => {
    const answer = catalog.priceCall(
      callOf({ provider: 'anthropic', model: 'claude-opus-5', serviceTier, usage: { inputTokens: 1 } }),
    )
    return answer.kind === 'priced' ? answer.priceId : answer.tier?.id
  }
  expect(idOf('batch+us')).toMatch(/^anthropic\/claude-opus-5#batch\+us\.[0-9a-f]{12}$/)
  expect(idOf('standard+us')).toMatch(/^anthropic\/claude-opus-5#us\./)
  expect(idOf('ultrafast')).toMatch(/^unpriced#ultrafast\.[0-9a-f]{12}$/)
  expect(idOf('balanced')).toMatch(/^unpriced#balanced\./)
  expect(parsePrice('{"basis":"unpriced","serviceTier":"balanced"}')?.id).toBe(idOf('balanced'))
  expect(idOf('x'.repeat(1_000))).toMatch(/^unpriced#x{40}\./)
})

test('an upstream that makes up tiers makes no more than so many prices', () => {
  const catalog = buildCatalog()
  const ids = new Set(
    Array.from({ length: 300 }, (_, index) => {
      const answer = catalog.priceCall(
        callOf({ model: 'gpt-4o', serviceTier: `made-up-${index}`, usage: { inputTokens: 1 } }),
      )
      return answer.kind === 'unpriced' ? answer.tier?.id : answer.priceId
    }),
  )
  expect(ids.size).toBe(101)
})

test('each factor of a tier says where it is from and when that was looked up', () => {
  for (const { source, seen, factor, models } of TIER_PRICES) {
    expect(source).toMatch(/^https:\/\//)
    expect(seen).toMatch(/^20[0-9]{2}-[0-9]{2}-[0-9]{2}$/)
    expect(Number(factor)).toBeGreaterThan(0)
    expect(models.flags).toBe('')
  }
})

test('the model that answered is priced, never another that was asked for', () => {
  expect(modelAt('openai', 'gpt-4o-2024-08-06', 'gpt-4o-mini')).toBe('openai/gpt-4o')
  expect(modelAt('openai', 'something-internal', 'gpt-4o-mini')).toBe('no_price')
  // A router that chose another model; Perplexity's Responses, which name who served a `sonar`.
  expect(modelAt('openrouter', 'x-ai/grok-none', 'google/gemini-2.0-flash-exp:free')).toBe('no_price')
  expect(modelAt('perplexity', 'openai/gpt-5-nobody', 'sonar')).toBe('no_price')
  // The same model under a name the catalog does not have.
  expect(modelAt('openai', 'accounts/me/models/gpt-4o-mini-2099-01-01', 'gpt-4o-mini')).toBe(
    'openai/gpt-4o-mini',
  )
  expect(modelAt('openai', null, 'gpt-4o-mini')).toBe('openai/gpt-4o-mini')
  expect(modelAt('openai', '', 'gpt-4o-mini')).toBe('openai/gpt-4o-mini')
})

test('a name that goes on with more than a revision is another model, which is not at that price', () => {
  const others: [string, string][] = [
    ['gemini', 'gemini-3.8-flash-spoken'],
    ['vertex', 'gemini-3.8-flash-secret'],
    ['anthropic', 'claude-sonnet-5-9'],
    ['vertex', 'claude-sonnet-5-9@20261001'],
    ['bedrock', 'us.anthropic.claude-sonnet-5-9-v1:0'],
    ['bedrock', 'amazon.titan-embed-text-v3:0'],
    ['bedrock', 'eu.amazon.nova-pro-v1:0'],
    ['bedrock', 'global.meta.llama3-1-8b-instruct-v1:0'],
    ['azure-openai', 'o4-mini-deep-research-preview'],
    ['azure-openai', 'my-o4-mini'],
    ['vertex', 'someone/claude-opus-4-6'],
    ['mistral', 'magistral-small-creative'],
    ['mistral', 'mistral-large-2503'],
    ['openai', 'davinci-003'],
    ['openai', 'gpt-4o-mini-2099'],
    ['gemini', 'gemini-ultra-latest'],
    ['fireworks', 'accounts/fireworks/models/deepseek-v4-pro-0813'],
  ]
  expect(
    others.map(([provider, model]) => [provider, model, modelAt(provider, model, null, firstSource)]),
  ).toEqual(others.map(([provider, model]) => [provider, model, 'no_price']))
})

test('a date, -latest, -preview or a version after a name is the same model', () => {
  const same: [string, string, string][] = [
    ['anthropic', 'claude-sonnet-5-20261001', 'anthropic/claude-sonnet-5'],
    ['anthropic', 'claude-3-5-haiku-latest', 'anthropic/claude-3-5-haiku-latest'],
    ['openai', 'gpt-5.5-2099-01-31', 'openai/gpt-5.5'],
    ['openai', 'gpt-4o-2024-05-13', 'openai/gpt-4o-2024-05-13'],
    ['gemini', 'gemini-2.5-pro-preview-06-05', 'google/gemini-2.5-pro'],
    ['gemini', 'gemini-3.5-flash-001', 'google/gemini-3.5-flash'],
    ['vertex', 'claude-opus-5@default', 'google/claude-opus-5'],
    ['vertex', 'claude-opus-4-6@20260205', 'google/claude-opus-4-6'],
    ['bedrock', 'us.anthropic.claude-sonnet-5-20260901-v1:0', 'aws/regional.anthropic.claude-sonnet-5-v1:0'],
    ['bedrock', 'us.amazon.nova-lite-v1:0', 'aws/amazon.nova-lite-v1:0'],
    ['xai', 'grok-4.6-latest', 'x-ai/grok-4.6'],
  ]
  expect(same.map(([provider, model]) => [provider, model, modelAt(provider, model)])).toEqual(same)
})

test('what a source calls by the name of another has no price of it', () => {
  expect(modelAt('mistral', 'mistral-large-latest', null, firstSource)).toBe('no_price')
  expect(modelAt('groq', 'openai/gpt-oss-safeguard-20b')).toBe('groq/openai/gpt-oss-safeguard-20b')
})

test("a host's prices are its own: Azure sells OpenAI's and Anthropic's models at their makers' prices, no others", () => {
  for (const model of ['deepseek-r1', 'deepseek-v3.2', 'grok-4-1-fast', 'kimi-k2.5', 'gpt-oss-120b']) {
    expect(modelAt('azure-ai', model, null, firstSource), model).toBe('no_price')
  }
  expect(modelAt('azure-ai', 'gpt-5-mini', null, firstSource)).toBe('openai/gpt-5-mini')
  // Azure's own price, where a source has it.
  expect(modelAt('azure-ai', 'deepseek-r1')).toBe('azure-ai/deepseek-r1')
})

test('an unknown host has the prices that the operator says it has, and else none', () => {
  const upstream = (name: string) => ({
    provider: 'openai-compatible',
    upstream: name,
    usage: { inputTokens: 1 },
  })
  const pricesOf = new Map([
    ['of-deepseek', 'deepseek'],
    ['of-any', 'makers'],
  ])
  const catalog = buildCatalog({ pricesOf })
  const at = (name: string, model: string) =>
    described(catalog.priceCall(callOf({ ...upstream(name), model })))
  expect(at('plain', 'deepseek-ai/DeepSeek-R1')).toBe('no_price')
  expect(at('plain', 'gpt-4o')).toBe('no_price')
  expect(at('of-deepseek', 'deepseek-ai/deepseek-v4-pro')).toContain(' deepseek/deepseek-v4-pro@')
  expect(at('of-deepseek', 'gpt-4o')).toBe('no_price')
  expect(at('of-any', 'gpt-4o')).toBe('2500000 openai/gpt-4o#std')
  expect(at('of-any', 'someone/gpt-4o')).toBe('no_price')
})

test('an unknown model, or none, is unpriced with its reason and never free', () => {
  const usage = { inputTokens: 1 }
  expect(catalog.priceCall(callOf({ model: 'gpt-99', requestedModel: 'x', usage }))).toEqual({
    kind: 'unpriced',
    reason: 'no_price',
    model: 'gpt-99',
  })
  expect(catalog.priceCall(callOf({ usage }))).toEqual({ kind: 'unpriced', reason: 'no_model', model: null })
  expect(priced({})).toBe('nothing_used')
  expect(priced({ model: 'gpt-99' })).toBe('nothing_used')
  expect(priced({ model: 'gpt-4o' })).toBe('0 openai/gpt-4o#std')
})

test('a model that the catalog lists without any price is unpriced, unless its name says :free', () => {
  expect(modelAt('gemini', 'gemma-3-27b-it')).toBe('no_price')
  expect(modelAt('cerebras', 'qwen-3-coder-480b')).toBe('no_price')
  const free = {
    provider: 'openrouter',
    model: 'allenai/molmo-7b-d:free',
    usage: { inputTokens: 5, outputTokens: 5 },
  }
  expect(priced(free)).toBe('0 openrouter/allenai/molmo-7b-d:free#std')
})

test('use of which nothing has a price is unpriced: tokens of a model billed by the page', () => {
  const call = { provider: 'mistral', model: 'mistral-ocr-latest' }
  expect(priced({ ...call, usage: { inputTokens: 10 } })).toBe('use_without_price')
  expect(priced({ ...call, usage: { inputTokens: 10 }, units: { ...NO_UNITS, pages: 2 } })).toBe(
    '8000000000 mistral/mistral-ocr-latest@2026-06-23#std',
  )
})

test('pages at Mistral and seconds at Groq cost half in batches, as tokens do', () => {
  const atBatch = (provider: string, model: string, units: object) =>
    priced({ provider, model, serviceTier: 'batch', units: { ...NO_UNITS, ...units } }).split(' ')[0]
  expect(atBatch('mistral', 'mistral-ocr-latest', { pages: 2 })).toBe('4000000000')
  expect(atBatch('mistral', 'mistral-ocr-latest', { annotatedPages: 2 })).toBe('5000000000')
  // An hour is $0.111.
  expect(atBatch('groq', 'whisper-large-v3', { audioMs: 3_600_000 })).toBe('55501200000')
})

test('near names are other models: nothing is guessed', () => {
  for (const name of ['gpt-4o-mini2', 'gpt4o', 'gpt-4o ', ' gpt-4o', 'GPT-4O']) {
    const known = ['gpt-4o ', ' gpt-4o', 'GPT-4O'].includes(name)
    expect(modelAt('openai', name), name).toBe(known ? 'openai/gpt-4o' : 'no_price')
  }
  expect(modelAt('mistral', 'gpt-4o')).toBe('no_price')
  expect(modelAt('anthropic', 'gemini-2.5-pro')).toBe('no_price')
})

test('each provider is looked up where its prices are', () => {
  const cases: [string, string, string][] = [
    ['openai', 'ft:gpt-4o-mini-2024-07-18:acme::abc', 'openai/ft:gpt-4o-mini'],
    ['azure-openai', 'gpt-5-nano-2025-08-07', 'azure/gpt-5-nano-2025-08-07'],
    ['azure-openai', 'o4-mini-2025-04-16', 'azure/o4-mini'],
    ['azure-ai', 'claude-sonnet-4-5-20250929', 'anthropic/claude-sonnet-4-5'],
    ['anthropic', 'claude-opus-4-20250514', 'anthropic/claude-opus-4-0'],
    ['gemini', 'models/gemini-2.5-flash', 'google/gemini-2.5-flash'],
    ['vertex', 'google/gemini-2.5-flash', 'google/gemini-2.5-flash'],
    ['vertex', 'publishers/google/models/gemini-2.5-pro', 'google/gemini-2.5-pro'],
    ['vertex', 'claude-3-5-sonnet@20240620', 'google/claude-3-5-sonnet'],
    ['vertex', 'claude-opus-4-5@20251101', 'google/claude-opus-4-5'],
    ['bedrock', 'claude-sonnet-4-20250514', 'aws/regional.anthropic.claude-sonnet-4-20250514-v1:0'],
    ['bedrock', 'amazon.nova-lite-v1%3A0', 'aws/amazon.nova-lite-v1:0'],
    [
      'bedrock',
      'arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.claude-sonnet-4-6-v1:0',
      'aws/global.anthropic.claude-sonnet-4-6-v1:0',
    ],
    ['bedrock', 'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', 'no_price'],
    ['bedrock', '%E0%A4%A', 'no_price'],
    ['xai', 'grok-4.3-latest', 'x-ai/grok-4.3'],
    ['openrouter', 'anthropic/claude-opus-5', 'openrouter/anthropic/claude-opus-5'],
    ['openrouter', 'z-ai/glm-5-turbo-20260315', 'openrouter/z-ai/glm-5-turbo'],
    ['groq', 'moonshotai/kimi-k2-instruct-0905', 'groq/moonshotai/kimi-k2-instruct'],
    [
      'together',
      'meta-llama/Llama-3.3-70B-Instruct-Turbo',
      'together/meta-llama/Llama-3.3-70B-Instruct-Turbo',
    ],
    ['fireworks', 'accounts/fireworks/models/kimi-k3', 'fireworks/kimi-k3'],
    [
      'cloudflare',
      '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
      'cloudflare/@cf/meta/llama-3.3-70b-instruct-fp8-fast',
    ],
    ['cloudflare', 'workers-ai/@cf/openai/gpt-oss-20b', 'cloudflare/@cf/openai/gpt-oss-20b'],
    ['cloudflare', 'google-ai-studio/gemini-2.5-flash', 'google/gemini-2.5-flash'],
    ['huggingface-router', 'openai/gpt-oss-120b:groq', 'huggingface_groq/openai/gpt-oss-120b'],
    ['huggingface-router', 'openai/gpt-oss-120b', 'no_price'],
    ['huggingface-router', 'openai/gpt-oss-120b:fastest', 'no_price'],
    ['moonshotai', 'kimi-k3', 'moonshotai/kimi-k3'],
    ['zai', 'glm-5.3', 'zai/GLM-5.3'],
    ['voyageai', 'voyage-3.5', 'voyageai/voyage-3.5'],
    ['vercel-gateway', 'google/gemini-2.5-flash', 'google/gemini-2.5-flash'],
    ['vercel-gateway', 'openai/gpt-4o-2024-05-13', 'openai/gpt-4o-2024-05-13'],
    ['vercel-gateway', 'xai/grok-4', 'x-ai/grok-4-0709'],
    ['vercel-gateway', 'gemini-2.5-flash', 'no_price'],
    ['vercel-gateway', 'deepseek/deepseek-v4-pro', 'vercel/deepseek/deepseek-v4-pro'],
    ['vercel-gateway', 'deepseek/no-such-model', 'no_price'],
    ['litellm-proxy', 'gpt-3.5-turbo-0125', 'no_price'],
    ['openai-compatible', 'gpt-4o', 'no_price'],
    ['openai-compatible', 'someone/gpt-4o', 'no_price'],
    ['openai-compatible', 'someone/claude-3-haiku-tuned', 'no_price'],
    ['databricks', 'us.anthropic.claude-3-7-sonnet-20250219-v1:0', 'no_price'],
    ['alibaba', 'qwen3-max', 'alibaba/qwen3-max'],
  ]
  expect(cases.map(([provider, model]) => [provider, model, modelAt(provider, model)])).toEqual(cases)
})

test('the router of Hugging Face is priced by the provider that the client chose, not by what that one calls it', () => {
  expect(modelAt('huggingface-router', 'llama3.1-8b', 'openai/gpt-oss-20b:together')).toBe(
    'huggingface_together/openai/gpt-oss-20b',
  )
})

test('the path names what Bedrock served, whatever the model calls itself in its answer', () => {
  expect(
    modelAt('bedrock', 'claude-3-sonnet-28k-20240229', 'us.anthropic.claude-3-sonnet-20240229-v1:0'),
  ).toBe('aws/regional.anthropic.claude-3-sonnet-20240229-v1:0')
  expect(
    modelAt('bedrock', 'claude-haiku-4-5-20251001', 'global.anthropic.claude-haiku-4-5-20251001-v1:0'),
  ).toBe(modelAt('bedrock', 'global.anthropic.claude-haiku-4-5-20251001-v1:0'))
  expect(modelAt('bedrock', 'jamba-1.5-mini', 'ai21.jamba-1-5-mini-v1:0')).toBe(
    'aws/ai21.jamba-1-5-mini-v1:0',
  )
  expect(modelAt('bedrock', 'claude-3-sonnet-28k-20240229', 'application-inference-profile/abc')).toBe(
    'no_price',
  )
})

test('the completions of OpenAI say which revision of a model answered', () => {
  const instruct = 'gpt-3.5-turbo-instruct'
  expect(modelAt('openai', `${instruct}:20230824-v2`, instruct)).toBe(`openai/${instruct}`)
  expect(modelAt('openai', 'davinci:2023-07-21-v2', 'davinci-002')).toBe('openai/davinci:2023-07-21-v2')
  expect(modelAt('openai', 'babbage:2023-07-21-v2', 'babbage-002')).toBe('openai/babbage:2023-07-21-v2')
})

test('an embedding of Cohere costs a tenth of a dollar for a million tokens, also of the light models', () => {
  for (const model of ['english-v3.0', 'english-light-v3.0', 'multilingual-v3.0', 'multilingual-light-v3.0'])
    expect(priced({ provider: 'cohere', model: `embed-${model}`, usage: { inputTokens: 10 } })).toBe(
      `1000000 cohere/embed-${model}#std`,
    )
  const pictures = { provider: 'cohere', model: 'embed-english-v3.0', units: { ...NO_UNITS, images: 2 } }
  expect(priced(pictures)).toBe('200000000 cohere/embed-english-v3.0#std')
})

test('what runs on machines of your own has no price but the one you write', () => {
  for (const provider of ['vllm', 'ollama', 'llamacpp', 'tgi', 'lmstudio', 'gpustack']) {
    expect(catalogPlaces(provider, 'gpt-4o')).toEqual([])
    expect(modelAt(provider, 'gpt-4o')).toBe('no_price')
  }
})

test('every provider an upstream can have is in the table, and every place it names is in the catalog', () => {
  expect(PRICED_PROVIDERS.toSorted()).toEqual(PROVIDERS.toSorted())
  expect([...bundledEntries().providers.keys()]).toEqual(expect.arrayContaining([...CATALOG_PROVIDER_IDS]))
  for (const provider of bundledEntries().providers.values()) {
    for (const id of provider.fallbackProviders) expect(CATALOG_PROVIDER_IDS).toContain(id)
  }
  for (const provider of PRICED_PROVIDERS) {
    for (const { providerId } of catalogPlaces(provider, 'model'))
      expect([...CATALOG_PROVIDER_IDS, ...OTHER_PROVIDER_IDS]).toContain(providerId)
  }
})

test("an upstream's own figure is taken where it is trusted and gives one", () => {
  const trusting = buildCatalog({
    trustedUpstreams: ['up'],
    markups: [{ client: 'acme', upstream: null, from: null, factor: { digits: 15n, scale: 1 }, line: 1 }],
  })
  const call = callOf({ provider: 'openrouter', model: 'openai/gpt-4o', usage: { inputTokens: 1 } })
  const costOf = (change: Partial<CallToPrice>) => described(trusting.priceCall({ ...call, ...change }))
  expect(costOf({ reportedCostPico: 7n })).toBe('7 openrouter/reported')
  // Another one bills it, as with a client's own key.
  expect(costOf({ reportedCostPico: 0n })).toBe('2500000 openrouter/openai/gpt-4o@2026-10-19#std')
  expect(costOf({ reportedCostPico: 7n, clientName: 'acme' })).toBe('11 openrouter/reported')
  expect(costOf({ reportedCostPico: 7n, upstream: 'other' })).toBe(
    '2500000 openrouter/openai/gpt-4o@2026-10-19#std',
  )
  expect(costOf({ reportedCostPico: null })).toBe('2500000 openrouter/openai/gpt-4o@2026-10-19#std')
  expect(costOf({ reportedCostPico: -7n })).toBe('2500000 openrouter/openai/gpt-4o@2026-10-19#std')
})

test("an upstream's own figure stands beside ours, and a difference of more than one in a hundred is reported", () => {
  const trusting = buildCatalog({ trustedUpstreams: ['up'] })
  const call = callOf({ provider: 'openrouter', model: 'openai/gpt-4o', usage: { inputTokens: 1_000 } })
  const said = (reportedCostPico: bigint | null, upstream = 'up') =>
    trusting.priceCall({ ...call, upstream, reportedCostPico })
  // Ours is 2,500,000,000.
  expect(said(2_500_000_000n)).toMatchObject({ reported: { ownCostPico: 2_500_000_000n, differs: false } })
  expect(said(2_476_000_000n)).toMatchObject({ reported: { differs: false } })
  expect(said(2_475_000_000n)).toMatchObject({ costPico: 2_475_000_000n, reported: { differs: true } })
  expect(said(0n)).toMatchObject({ costPico: 2_500_000_000n, reported: { differs: true } })
  expect(said(1n, 'doubted')).toMatchObject({ costPico: 2_500_000_000n, reported: { differs: true } })
  expect(said(null)).not.toHaveProperty('reported')
  const unknown = { ...call, model: 'nobody/knows', reportedCostPico: 5n }
  expect(trusting.priceCall(unknown)).toMatchObject({ reported: { ownCostPico: null, differs: false } })
})

test('a call that several models served is priced part by part', () => {
  const part = (model: string, inputTokens: number) => ({ model, usage: { ...NO_USAGE, inputTokens } })
  const call = { provider: 'anthropic', model: 'claude-sonnet-4-6', usage: { inputTokens: 30 } }
  // 10 at $3, 20 at $5 a million.
  const mixed = { ...call, parts: [part('claude-sonnet-4-6', 10), part('claude-opus-4-6', 20)] }
  expect(priced(mixed)).toBe('130000000 parts')
  const answer = catalog.priceCall(callOf(mixed))
  expect(answer.kind === 'priced' && parsePrice(answer.price.json)).toEqual(
    answer.kind === 'priced' && answer.price,
  )
  const alike = { ...call, parts: [part('claude-sonnet-4-6', 10), part('claude-sonnet-4-6', 20)] }
  expect(priced(alike)).toBe('90000000 anthropic/claude-sonnet-4-6@2026-03-13#std')
  expect(priced({ ...alike, units: { ...NO_UNITS, webSearches: 1 } })).toBe(
    '10090000000 anthropic/claude-sonnet-4-6@2026-03-13#std',
  )
  const unknown = { ...call, parts: [part('claude-sonnet-4-6', 10), part('claude-99', 20)] }
  expect(catalog.priceCall(callOf(unknown))).toMatchObject({
    kind: 'unpriced',
    reason: 'no_price',
    model: 'claude-99',
    // Not to be priced later as if one model had served it all.
    tier: { definition: { basis: 'parts' } },
  })
})

test('contradictory counts are unpriced, never a credit and never an error', () => {
  for (const inputTokens of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]) {
    expect(priced({ model: 'gpt-4o', usage: { inputTokens } })).toBe('contradictory_usage')
  }
  expect(priced({ model: 'gpt-realtime', usage: { inputTokens: 1, audioInputTokens: 2 } })).toBe(
    'contradictory_usage',
  )
})

test('more cached tokens than tokens are not believed: all are at the price of input, and the identity says so', () => {
  // Azure's Grok counts a preamble that is not the client's: 7 of input, 163 cached.
  const usage = { inputTokens: 7, cacheReadTokens: 163, outputTokens: 1 }
  expect(priced({ provider: 'xai', model: 'grok-4.3', usage })).toBe(
    '11250000 x-ai/grok-4.3#std<199999+cache-not-believed',
  )
  const written = { inputTokens: 10, cacheReadTokens: 8, cacheWriteTokens: 8, cacheWrite1hTokens: 8 }
  expect(priced({ provider: 'anthropic', model: 'claude-opus-5', usage: written })).toBe(
    '50000000 anthropic/claude-opus-5#std+cache-not-believed',
  )
})

test('what is counted and has no price makes the call partly unpriced, and the identity says so', () => {
  const units = (counts: Partial<BilledUnits>) => ({ ...NO_UNITS, ...counts })
  const usage = { inputTokens: 1_000, outputTokens: 100 }
  const at = (provider: string, model: string, call: Parameters<typeof callOf>[0]) =>
    priced({ provider, model, usage, ...call })
  expect(at('openai', 'gpt-4o', { units: units({ pages: 2 }) })).toBe('3500000000 openai/gpt-4o#std+partly')
  expect(at('openrouter', 'openai/gpt-5', { units: units({ webSearches: 2 }) })).toContain('#std+partly')
  const audio = { inputTokens: 1_000, audioInputTokens: 900, outputTokens: 100, audioOutputTokens: 90 }
  expect(at('openai', 'gpt-4o-audio-preview', { usage: audio })).toContain('#std+partly')
  // Other measures of what was billed by tokens.
  expect(at('openai', 'gpt-4o', { units: units({ audioMs: 5_000, images: 1, characters: 9 }) })).toBe(
    '3500000000 openai/gpt-4o#std',
  )
  expect(at('openai', 'text-embedding-3-small', { usage: { inputTokens: 1_000 } })).toBe(
    '20000000 openai/text-embedding-3-small#std',
  )
  expect(at('cohere', 'embed-v4.0', { usage: { inputTokens: 510, imageInputTokens: 500 } })).toBe(
    '236200000 cohere/embed-v4.0#std',
  )
  const answer = catalog.priceCall(callOf({ model: 'gpt-4o', usage, units: units({ pages: 2 }) }))
  if (answer.kind !== 'priced') throw new Error('no price')
  expect(answer.price.definition).toMatchObject({ unpriced: ['page'] })
  expect(parsePrice(answer.price.json)).toEqual(answer.price)
})

test("tools have each provider's own fee, by the search", () => {
  const fee = (provider: string, model: string) => {
    const cost = (webSearches: number) => {
      const units = { ...NO_UNITS, webSearches }
      const answer = catalog.priceCall(callOf({ provider, model, usage: { inputTokens: 1 }, units }))
      return answer.kind === 'priced' ? answer.costPico : Number.NaN
    }
    return Number(cost(1_001)) / 1e12 - Number(cost(1)) / 1e12
  }
  const cases: [string, string, number][] = [
    ['openai', 'gpt-5', 10],
    ['azure-openai', 'gpt-5', 14],
    ['anthropic', 'claude-opus-5', 10],
    ['bedrock', 'us.anthropic.claude-sonnet-4-6', 10],
    ['vertex', 'claude-opus-5', 10],
    ['xai', 'grok-4.3', 5],
    ['gemini', 'gemini-2.5-flash', 35],
    ['gemini', 'gemini-3.5-flash', 14],
    ['perplexity', 'sonar', 0],
    ['perplexity', 'sonar-deep-research', 5],
  ]
  for (const [provider, model, dollars] of cases) expect(fee(provider, model), model).toBeCloseTo(dollars, 6)
})

test('cache writes for an hour cost twice the input wherever Claude is sold, and at Kimi', () => {
  const usage = { inputTokens: 1_000, cacheWriteTokens: 1_000, cacheWrite1hTokens: 1_000 }
  const cases: [string, string, string, number][] = [
    ['anthropic', 'claude-opus-5', '', 10],
    ['vertex', 'claude-opus-5', '', 10],
    ['vertex', 'claude-opus-5', 'batch', 5],
    ['bedrock', 'global.anthropic.claude-opus-4-8', '', 10],
    ['bedrock', 'us.anthropic.claude-opus-4-8', '', 11],
    ['moonshotai', 'kimi-k3', '', 6],
  ]
  for (const [provider, model, serviceTier, dollars] of cases) {
    const answer = catalog.priceCall(callOf({ provider, model, serviceTier, usage }))
    expect(answer.kind === 'priced' && Number(answer.costPico) / 1e9, `${provider} ${model}`).toBe(dollars)
  }
})

test("Perplexity's fee is by how much of the web a request may read", () => {
  const at = (model: string, serviceTier: string | null) =>
    priced({ provider: 'perplexity', model, serviceTier, usage: { inputTokens: 10, outputTokens: 10 } })
  expect(at('sonar', 'search_low')).toBe('5020000000 perplexity/sonar#search_low')
  expect(at('sonar', 'search_high')).toBe('12020000000 perplexity/sonar#search_high')
  expect(at('sonar-pro', 'search_medium')).toBe('10180000000 perplexity/sonar-pro#search_medium')
})

test('names that no model can have are answered like any other', () => {
  for (const name of [
    '',
    '\n',
    'a\nb',
    '__proto__',
    'constructor',
    '💥',
    'x'.repeat(100_000),
    '*',
    '/',
    ':',
  ]) {
    for (const provider of PRICED_PROVIDERS) expect(modelAt(provider, name)).toMatch(/^no_(price|model)$/)
  }
})

test('all of a model is shown: its tiers, and what it is billed for that cannot be counted', () => {
  const query = { provider: 'openai', upstream: 'up', clientName: null, serviceTier: null }
  const found = catalog.findPrices({ ...query, model: 'gpt-5.4', atMs: Date.parse('2026-11-20T00:00:00Z') })
  expect(found?.prices.tiers.map(({ usual }) => usual.definition.context)).toEqual([
    { above: 0, upTo: 272_000 },
    { above: 272_000, upTo: null },
  ])
  expect(found?.unmetered).toEqual([])
  const omni = { ...query, provider: 'gemini', model: 'gemini-omni-flash-preview' }
  expect(catalog.findPrices({ ...omni, atMs: Date.parse('2026-11-20T00:00:00Z') })?.unmetered).toEqual([
    'output_video_mtok',
  ])
  expect(catalog.knowsModel('openai', 'up', 'gpt-5.4', 0)).toBe(true)
  expect(catalog.knowsModel('openai', 'up', 'gpt-99', 0)).toBe(false)
})
