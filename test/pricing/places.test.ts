import { expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE, type TokenUsage } from '../../src/call/usage.ts'
import { pricesOfHost } from '../../src/config/yaml/upstream.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import {
  type Deployment,
  placeInPath,
  placeOfUpstream,
  type UpstreamPlace,
} from '../../src/pricing/places/upstream-places.ts'
import { repriceCall } from '../../src/pricing/repricing/repricing.ts'

// What each place costs, written by hand from the makers' and clouds' own lists: US dollars for a million tokens.

interface Asked {
  readonly provider: string
  readonly host: string
  readonly deployment?: Deployment
  readonly path?: string
  readonly model: string
  readonly tier?: string
}

function priceOf(asked: Asked, usage: Partial<TokenUsage>) {
  const { provider, host, deployment, path = '/v1/chat/completions', model, tier = null } = asked
  const pricesOf = pricesOfHost(provider as 'openai', host)
  const place = placeOfUpstream(provider, host, deployment)
  return buildCatalog({
    pricesOf: new Map(pricesOf === null ? [] : [['up', pricesOf]]),
    places: new Map<string, UpstreamPlace>(place === null ? [] : [['up', place]]),
  }).priceCall({
    provider,
    upstream: 'up',
    clientName: null,
    model,
    requestedModel: model,
    usage: { ...NO_USAGE, ...usage },
    units: NO_UNITS,
    serviceTier: tier,
    place: placeInPath(provider, path),
    arrivedAtMs: Date.parse('2026-11-24T12:00:00Z'),
    reportedCostPico: null,
    parts: null,
  })
}

const openAi = (host: string, model: string, tier?: string): Asked => ({
  provider: 'openai',
  host,
  model,
  ...(tier === undefined ? {} : { tier }),
})
const azure = (deployment: Deployment, model: string, tier?: string): Asked => ({
  ...openAi('made.openai.azure.com', model, tier),
  provider: 'azure-openai',
  deployment,
})
const vertex = (location: string, model: string, tier?: string): Asked => ({
  ...openAi('aiplatform.googleapis.com', model, tier),
  provider: 'vertex',
  path: `/v1/projects/p/locations/${location}/publishers/x/models/${model}:rawPredict`,
})
const bedrock = (region: string, model: string, tier?: string): Asked => ({
  ...openAi(`bedrock-runtime.${region}.amazonaws.com`, model, tier),
  provider: 'bedrock',
})

const IN = { inputTokens: 1_000 }
const CACHED = { inputTokens: 1_000, cacheReadTokens: 1_000 }
const OUT = { outputTokens: 1_000 }
const HOUR = { inputTokens: 1_000, cacheWriteTokens: 1_000, cacheWrite1hTokens: 1_000 }
const LONG = { inputTokens: 300_000 }

const EU = 'eu.api.openai.com'
const US = 'us.api.openai.com'

type Row = readonly [usd: string, Asked, Partial<TokenUsage>, tierInIdentity: string]

/** By source. */
const TABLE: Readonly<Record<string, readonly Row[]>> = {
  'https://developers.openai.com/api/docs/models/gpt-5.4: $2.50, $0.25, $15; a tenth more at regional endpoints':
    [
      ['2.5', openAi('api.openai.com', 'gpt-5.4'), IN, 'std'],
      ['2.75', openAi(EU, 'gpt-5.4'), IN, 'eu'],
      ['0.275', openAi(EU, 'gpt-5.4'), CACHED, 'eu'],
      ['16.5', openAi(US, 'gpt-5.4-2026-03-05'), OUT, 'us'],
      ['1.375', openAi(EU, 'gpt-5.4', 'batch'), IN, 'batch+eu'],
      ['8.25', openAi(US, 'gpt-5.4', 'flex'), OUT, 'flex+us'],
      ['33', openAi(EU, 'gpt-5.4', 'priority'), OUT, 'eu+priority'],
      ['5.5', openAi(EU, 'gpt-5.4'), LONG, 'eu'],
      // One source has it under the name of gpt-realtime-2, which costs the same everywhere.
      ['4.4', openAi(EU, 'gpt-realtime-2.1'), IN, 'eu'],
      ['0.66', openAi(EU, 'gpt-realtime-2.1-mini'), IN, 'eu'],
      ['4', openAi(EU, 'gpt-realtime-2'), IN, 'std'],
      ['2.5', openAi(EU, 'gpt-4o'), IN, 'std'],
      ['1.25', openAi(US, 'gpt-5'), IN, 'std'],
    ],
  'Azure’s retail meters of 2026-08-11: “5.4 inp Dz 1M Tokens” 2.75, “5.4 Batch cd inp Dz” 0.143, “5.4 pp opt Dz” 33, …':
    [
      ['2.5', azure('global', 'gpt-5.4'), IN, 'std'],
      ['2.75', azure('data-zone', 'gpt-5.4'), IN, 'data-zone'],
      ['0.275', azure('data-zone', 'gpt-5.4'), CACHED, 'data-zone'],
      ['0.143', azure('data-zone', 'gpt-5.4', 'batch'), CACHED, 'batch+data-zone'],
      ['33', azure('data-zone', 'gpt-5.4', 'priority'), OUT, 'data-zone+priority'],
      ['3', azure('data-zone-apac', 'gpt-5.4'), IN, 'data-zone-apac'],
      ['5.5', azure('data-zone-eu', 'gpt-5.5'), IN, 'data-zone-eu'],
      ['2.75', azure('data-zone-apac', 'gpt-4o-2024-11-20'), IN, 'data-zone-apac'],
      ['3.3', azure('regional', 'computer-use-preview'), IN, 'regional'],
      ['0.083', azure('data-zone', 'gpt-4o-mini'), CACHED, 'data-zone'],
      ['0.303', azure('data-zone-us', 'o4-mini'), CACHED, 'data-zone-us'],
      ['3.85', azure('data-zone', 'gpt-4.1', 'priority'), IN, 'data-zone+priority'],
      ['2.75', azure('regional', 'gpt-4o-2024-11-20'), IN, 'regional'],
      ['0.143', azure('regional', 'text-embedding-3-large'), IN, 'regional'],
    ],
  'LiteLLM 1.109.1: “azure/us/gpt-6-astra” 11, “azure/eu/gpt-6-astra” 12 and 60': [
    ['11', azure('data-zone-us', 'gpt-6-astra'), IN, 'data-zone-us'],
    ['60', azure('data-zone-eu', 'gpt-6-astra'), OUT, 'data-zone-eu'],
    ['10', azure('data-zone', 'gpt-6-astra'), IN, 'place_unknown'],
  ],
  'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing: a tenth more but at `global`':
    [
      ['5', vertex('global', 'claude-opus-5'), IN, 'std'],
      ['5.5', vertex('us-east5', 'claude-opus-5'), IN, 'regional'],
      ['27.5', vertex('eu', 'claude-opus-5'), OUT, 'regional'],
      ['0.55', vertex('europe-west1', 'claude-opus-5'), CACHED, 'regional'],
      ['11', vertex('us-east5', 'claude-opus-5'), HOUR, 'regional'],
      ['2.75', vertex('us-east5', 'claude-opus-5', 'batch'), IN, 'batch+regional'],
      ['1.65', vertex('europe-west1', 'gemini-3.5-flash'), IN, 'regional'],
      ['0.825', vertex('us-central1', 'gemini-3.5-flash', 'flex'), IN, 'flex+regional'],
      ['0.3', vertex('us-central1', 'gemini-2.5-flash'), IN, 'std'],
    ],
  'https://aws.amazon.com/bedrock/pricing, as LiteLLM 1.109.1 lists it by region': [
    ['3', bedrock('eu-west-1', 'global.anthropic.claude-sonnet-4-5-20250929-v1:0'), IN, 'std'],
    ['3.3', bedrock('us-east-1', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'), IN, 'std'],
    // A name that says no place: at the global price, and not known to be.
    ['3', bedrock('us-east-1', 'anthropic.claude-sonnet-4-5-20250929-v1:0'), IN, 'place_unknown'],
    ['0.3', bedrock('us-west-2', 'anthropic.claude-sonnet-4-5-20250929-v1:0'), CACHED, 'place_unknown'],
    ['12.5', bedrock('us-east-1', 'anthropic.claude-opus-4-7', 'batch'), OUT, 'batch+place_unknown'],
    ['5', bedrock('us-east-1', 'anthropic.claude-opus-4-6-v1'), IN, 'place_unknown'],
    ['3', bedrock('us-east-1', 'anthropic.claude-sonnet-4-20250514-v1:0'), IN, 'std'],
    ['0.96', bedrock('us-gov-east-1', 'amazon.nova-pro-v1:0'), IN, 'us-gov-east-1'],
    ['0.24', bedrock('us-gov-west-1', 'amazon.nova-pro-v1:0'), CACHED, 'us-gov-west-1'],
    ['3.84', bedrock('us-gov-west-1', 'amazon.nova-pro-v1:0'), OUT, 'us-gov-west-1'],
    ['0.36', bedrock('eu-central-1', 'minimax.minimax-m2.5'), IN, 'eu-central-1'],
    ['1.8', bedrock('sa-east-1', 'moonshotai.kimi-k2.5', 'flex'), OUT, 'flex+sa-east-1'],
    ['0.74', bedrock('ap-northeast-1', 'deepseek.v3.2'), IN, 'ap-northeast-1'],
    ['2.22', bedrock('eu-north-1', 'deepseek.v3.2'), OUT, 'eu-north-1'],
  ],
}
const ROWS = Object.entries(TABLE).flatMap(([source, rows]) => rows.map((row) => [...row, source] as const))

test.each(ROWS)('$%s a million: %o, %o, %s, by %s', (usd, asked, usage, tier) => {
  const priced = priceOf(asked, usage)
  if (priced.kind !== 'priced') throw new Error(priced.reason)
  const count = Math.max(usage.inputTokens ?? 0, usage.outputTokens ?? 0)
  expect(Number(priced.costPico)).toBe(Math.round(Number(usd) * 1_000_000) * count)
  expect(priced.priceId).toContain(`#${tier}`)
})

test('a place that decides and is not known stands in the identity of a price', () => {
  const unset: Asked = { provider: 'azure-openai', host: 'made.openai.azure.com', model: 'gpt-5.4' }
  expect(priceOf(unset, IN)).toMatchObject({ costPico: 2_500_000_000n })
  expect(priceOf(unset, IN)).toMatchObject({ priceId: expect.stringMatching(/#place_unknown[<.]/) })
  expect(priceOf({ ...unset, tier: 'batch' }, IN)).toMatchObject({
    costPico: 1_250_000_000n,
    priceId: expect.stringMatching(/#batch\+place_unknown[<.]/),
  })
  // It costs the same everywhere.
  expect(priceOf({ ...unset, model: 'gpt-4-turbo' }, IN)).toMatchObject({
    priceId: expect.stringMatching(/#std\./),
  })
})

test.each([
  ['3.3', 'inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ['0.25', 'foundation-model/anthropic.claude-3-haiku-20240307-v1:0'],
  [null, 'provisioned-model/anthropic.claude-3-haiku-20240307-v1:0'],
  [null, 'custom-model/amazon.nova-lite-v1:0'],
  [null, 'custom-model-deployment/amazon.nova-lite-v1:0'],
  [null, 'imported-model/amazon.nova-lite-v1:0'],
  [null, 'application-inference-profile/amazon.nova-lite-v1:0'],
])('at Bedrock $%s a million for an ARN of %s', (usd, resource) => {
  for (const model of [
    `arn:aws:bedrock:us-east-1:1:${resource}`,
    encodeURIComponent(`arn:aws:bedrock:us-east-1:1:${resource}`),
  ]) {
    const priced = priceOf(bedrock('us-east-1', model), IN)
    expect(priced.kind === 'priced' ? Number(priced.costPico) : null).toBe(
      usd === null ? null : Number(usd) * 1e9,
    )
  }
})

test('a host elsewhere without a price of its own has none', () => {
  expect(priceOf(bedrock('eu-west-3', 'anthropic.claude-opus-4-7'), IN)).toMatchObject({ kind: 'unpriced' })
  expect(priceOf(bedrock('eu-west-3', 'deepseek.v3.2'), IN)).toMatchObject({ kind: 'unpriced' })
})

test('deployments by name are each at their own place, the longest pattern first', () => {
  const catalog = buildCatalog({
    places: new Map([['up', { '*': '', 'prod-*': 'regional', 'prod-eu': 'data-zone-eu' }]]),
  })
  const tierOf = (requestedModel: string) => {
    const call = { provider: 'azure-openai', upstream: 'up', clientName: null, model: 'gpt-4o' }
    const used = { usage: { ...NO_USAGE, ...IN }, units: NO_UNITS, reportedCostPico: null, parts: null }
    const priced = catalog.priceCall({ ...call, ...used, requestedModel, serviceTier: null, arrivedAtMs: 0 })
    return priced.kind === 'priced' && /#([a-z-]+)/.exec(priced.priceId)?.[1]
  }
  expect(['prod-us', 'prod-eu', 'anything'].map(tierOf)).toEqual(['regional', 'data-zone-eu', 'std'])
})

test('a price of the operator’s is for every place, or for the one that it names', () => {
  const price = (serviceTier: string | null, input: string) => ({
    pattern: { kind: 'exact' as const, name: 'gpt-5.4' },
    model: 'gpt-5.4',
    provider: null,
    upstream: null,
    serviceTier,
    from: null,
    line: 1,
    prices: new Map([['input' as const, { digits: BigInt(input), scale: 0 }]]),
  })
  const costAt = (place: string, serviceTier: string | null) => {
    const overrides = [price('batch', '1'), price('eu', '7'), price(null, '2')]
    const catalog = buildCatalog({ overrides, places: new Map([['up', place]]) })
    const call = {
      provider: 'openai',
      upstream: 'up',
      clientName: null,
      model: 'gpt-5.4',
      requestedModel: null,
    }
    const used = { usage: { ...NO_USAGE, ...IN }, units: NO_UNITS, reportedCostPico: null, parts: null }
    const priced = catalog.priceCall({ ...call, ...used, serviceTier, arrivedAtMs: 0 })
    return priced.kind === 'priced' ? Number(priced.costPico) / 1e9 : null
  }
  expect(costAt('us', null)).toBe(2)
  expect(costAt('us', 'batch')).toBe(1)
  expect(costAt('eu', null)).toBe(7)
})

test('a repricing puts a call at the place that was said since', () => {
  const call = {
    provider: 'azure-openai',
    upstream: 'up',
    clientName: null,
    reportedModel: 'gpt-5.4',
    requestedModel: 'gpt-5.4',
    usageSource: 'reported' as const,
    usage: { ...NO_USAGE, ...IN },
    units: NO_UNITS,
    usageRaw: null,
    arrivedAtMs: Date.parse('2026-11-24T12:00:00Z'),
  }
  const asked: Asked = {
    provider: 'azure-openai',
    host: 'made.openai.azure.com',
    model: 'gpt-5.4',
    tier: 'flex',
  }
  const before = priceOf(asked, IN)
  if (before.kind !== 'priced') throw new Error(before.reason)
  const past = { ...call, costPico: before.costPico, priceId: before.priceId }
  const since = buildCatalog({ places: new Map([['up', 'data-zone']]) })
  expect(repriceCall(since, past, before.price)).toMatchObject({
    kind: 'cost',
    costPico: 1_375_000_000n,
    price: { id: expect.stringContaining('#data-zone+flex') },
  })
  const global = buildCatalog({ places: new Map([['up', '']]) })
  expect(repriceCall(global, past, before.price)).toMatchObject({
    kind: 'cost',
    costPico: 1_250_000_000n,
    price: { id: expect.stringContaining('#flex') },
  })
})
