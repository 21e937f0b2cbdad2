import { expect, test } from 'vitest'
import { BILLED_UNITS, NO_UNITS, NO_USAGE, TOKEN_CLASSES } from '../../src/call/usage.ts'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import { buildCatalog, type Catalog } from '../../src/pricing/catalog/catalog.ts'
import { buildUnpricedTier, type Price } from '../../src/pricing/price.ts'
import { parsePrice } from '../../src/pricing/price-parse.ts'
import { type PastCall, repriceCall } from '../../src/pricing/repricing/repricing.ts'
import { buildRuleCatalog, isInScope, settingsOf } from '../../src/pricing/repricing/repricing-scope.ts'
import { repriceRow } from '../../src/pricing/repricing/repricing-sums.ts'
import { bundledEntries } from '../../src/pricing/sources/catalog-bundle.ts'
import { rounds } from '../support/rounds.ts'

/** Repeatable numbers from 0 up to below 1 (mulberry32). */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Flat, tiered by size of prompt, by hour, with a least length of audio, with reasoning and fees beside. */
const MODELS = [
  ['openai', 'gpt-4o'],
  ['gemini', 'gemini-2.5-pro'],
  ['deepseek', 'deepseek-chat'],
  ['groq', 'whisper-large-v3'],
  ['perplexity', 'sonar-deep-research'],
  ['anthropic', 'claude-sonnet-4-6'],
] as const

const MIDNIGHT = Date.parse('2026-03-04T00:00:00Z')

function randomCall(next: () => number): PastCall {
  const [provider, model] = MODELS[Math.floor(next() * MODELS.length)] ?? MODELS[0]
  const count = (most: number) => Math.floor(next() * most)
  const inputTokens = next() < 0.1 ? 0 : count(next() < 0.3 ? 400_000 : 2_000)
  const outputTokens = inputTokens === 0 ? 0 : count(3_000)
  const usage = {
    ...NO_USAGE,
    inputTokens,
    outputTokens,
    cacheReadTokens: count(inputTokens / 2),
    cacheWriteTokens: provider === 'anthropic' ? count(inputTokens / 3) : null,
    reasoningTokens: next() < 0.5 ? null : count(outputTokens),
  }
  const audioMs = provider === 'groq' ? count(40_000) : null
  return {
    provider,
    upstream: provider,
    clientName: null,
    reportedModel: model,
    requestedModel: model,
    usageSource: 'reported',
    usage: provider === 'groq' ? NO_USAGE : usage,
    units: { ...NO_UNITS, audioMs },
    usageRaw: null,
    arrivedAtMs: MIDNIGHT + count(86_400_000),
    costPico: null,
    priceId: null,
  }
}

function metered(catalog: Catalog, call: PastCall, prices: Map<string, Price>): PastCall {
  const cost = catalog.priceCall({
    ...call,
    model: call.reportedModel,
    serviceTier: null,
    reportedCostPico: null,
    parts: null,
  })
  if (cost.kind === 'unpriced') return call
  prices.set(cost.priceId, parsePrice(cost.price.json) ?? cost.price)
  return { ...call, costPico: cost.costPico, priceId: cost.priceId }
}

const withMarkup = (factor: string) =>
  buildRuleCatalog(bundledEntries(), settingsOf([], [{ line: 1, factor }], ['openai']))

test('a row priced from its sums costs what its calls cost, whenever it is priced so at all', () => {
  const next = random(20_260_304)
  const known = new Map<string, number>()
  for (const old of [buildCatalog(), withMarkup('0.5'), null]) {
    const prices = new Map<string, Price>()
    const calls = Array.from({ length: rounds({ short: 1_500, long: 6_000 }) }, () => randomCall(next))
    const rows = Map.groupBy(
      calls.map((call) => (old === null ? call : metered(old, call, prices))),
      // Small rows too: some have calls of one kind alone.
      (call) => `${call.provider} ${call.priceId} ${Math.floor(next() * 40)}`,
    )
    const catalog = withMarkup('1.3')
    for (const ofRow of rows.values()) {
      const [first] = ofRow
      if (first === undefined) continue
      const oldPrice = prices.get(first.priceId ?? '') ?? null
      const outcomes = ofRow.map((call) => repriceCall(catalog, call, oldPrice))
      const expected = ofRow.reduce((sum, call, index) => {
        const outcome = outcomes[index]
        return sum + (outcome?.kind === 'cost' ? outcome.costPico : (call.costPico ?? 0n))
      }, 0n)
      const row = repriceRow(catalog, rowOf(ofRow), oldPrice)
      known.set(row.kind, (known.get(row.kind) ?? 0) + 1)
      if (row.kind === 'cost') expect(row.costPico).toBe(expected)
      else if (row.kind === 'as_metered') expect(expected).toBe(metereds(ofRow))
    }
  }
  expect(known.get('cost')).toBeGreaterThan(500)
  expect(known.get('unknown')).toBeGreaterThan(50)
})

function metereds(calls: readonly PastCall[]): bigint {
  return calls.reduce((sum, call) => sum + (call.costPico ?? 0n), 0n)
}

function rowOf(calls: readonly PastCall[]) {
  const [first] = calls
  const sum = (pick: (call: PastCall) => number | null) =>
    calls.reduce((total, call) => total + BigInt(pick(call) ?? 0), 0n)
  const sums = Object.fromEntries([
    ['requests', BigInt(calls.length)],
    ...TOKEN_CLASSES.map((name) => [name, sum(({ usage }) => usage[name])]),
    ...BILLED_UNITS.map((name) => [name, sum(({ units }) => units[name])]),
  ])
  return {
    day: utcDayOf(MIDNIGHT),
    provider: first?.provider ?? '',
    upstream: first?.upstream ?? '',
    clientName: null,
    model: first?.reportedModel ?? '',
    priceId: first?.priceId ?? '',
    unpriced: first?.costPico === null ? BigInt(calls.length) : 0n,
    invalid: 0n,
    withoutFigures: 0n,
    sums,
  }
}

const catalog = buildCatalog()
const aCall: PastCall = {
  ...randomCall(random(1)),
  provider: 'anthropic',
  upstream: 'anthropic',
  reportedModel: 'claude-sonnet-4-6',
  usage: { ...NO_USAGE, inputTokens: 100_000, outputTokens: 0 },
}

test('what takes an estimate back costs what the estimate does, below 0', () => {
  const next = random(7)
  const prices = new Map<string, Price>()
  const newer = withMarkup('1.3')
  const negative = <Counts extends object>(counts: Counts) =>
    Object.fromEntries(
      Object.entries(counts).map(([name, count]) => [name, count === null ? null : -count]),
    ) as Counts
  let repriced = 0
  for (let index = 0; index < 100; index += 1) {
    const call = metered(catalog, { ...randomCall(next), usageSource: 'estimated' }, prices)
    if (call.costPico === null || call.costPico === 0n) continue
    const price = prices.get(call.priceId ?? '') ?? null
    const { usage, units, costPico } = call
    const estimate = repriceCall(newer, call, price)
    const back = { ...call, usage: negative(usage), units: negative(units), costPico: -costPico }
    const expected = estimate.kind === 'cost' ? { ...estimate, costPico: -estimate.costPico } : estimate
    expect(repriceCall(newer, back, price)).toEqual(expected)
    if (estimate.kind === 'cost') repriced += 1
  }
  expect(repriced).toBeGreaterThan(20)
})

test('a call that had no price is priced at the tier that its usage names, else at the standard one', () => {
  expect(repriceCall(catalog, aCall, null)).toMatchObject({ kind: 'cost', costPico: 300_000_000_000n })
  const batch = { ...aCall, usageRaw: '{"input_tokens":100000,"service_tier":"batch"}' }
  expect(repriceCall(catalog, batch, null)).toMatchObject({ kind: 'cost', costPico: 150_000_000_000n })
  expect(repriceCall(catalog, { ...aCall, usageRaw: '{"service_tier":' }, null)).toMatchObject({
    costPico: 300_000_000_000n,
  })
})

test('what cannot be known stays as metered, and is never free', () => {
  const asMetered = { kind: 'as_metered' }
  expect(repriceCall(catalog, { ...aCall, usageSource: 'invalid', usage: NO_USAGE }, null)).toEqual(asMetered)
  expect(repriceCall(catalog, { ...aCall, reportedModel: 'x', requestedModel: 'y' }, null)).toEqual(asMetered)
  expect(repriceCall(catalog, { ...aCall, costPico: 0n }, null)).toEqual(asMetered)
  const priced = { ...aCall, costPico: 5n, priceId: 'gone' }
  expect(repriceCall(catalog, priced, null)).toMatchObject({ kind: 'unknown' })
})

test('a scope is a name or the beginning of names, a provider or all, from a day on', () => {
  const totals = { model: 'gpt-4o', provider: 'openai', day: '2026-03-04' }
  const scope = { model: 'gpt-4o', provider: null, since: '2026-03-04' }
  expect(isInScope(scope, totals)).toBe(true)
  expect(isInScope({ ...scope, model: 'gpt*' }, totals)).toBe(true)
  expect(isInScope({ ...scope, model: 'gpt-4' }, totals)).toBe(false)
  expect(isInScope({ ...scope, provider: 'azure-openai' }, totals)).toBe(false)
  expect(isInScope({ ...scope, since: '2026-03-05' }, totals)).toBe(false)
})

test('settings are the same whatever line of the file they stood on', () => {
  const at = (line: number) => settingsOf([{ line, model: 'm', input: '1' }], [], ['b', 'a'])
  expect(at(3)).toEqual(at(9))
  expect(() => buildRuleCatalog(bundledEntries(), settingsOf([{ line: 1, model: 'm' }], [], []))).toThrow(
    'the prices of a repricing cannot be read',
  )
})

test('calls without a price keep the tier that they were served at, and are priced by it later, one by one or in all', () => {
  const call: PastCall = {
    ...randomCall(random(1)),
    provider: 'openai',
    upstream: 'openai',
    reportedModel: 'gpt-6-sol',
    requestedModel: 'gpt-6-sol',
    usage: { ...NO_USAGE, inputTokens: 1_000, outputTokens: 100 },
    units: NO_UNITS,
  }
  const tier = buildUnpricedTier('night')
  const unpriced = { ...call, costPico: null, priceId: tier.id }
  const night = (input: string) =>
    buildRuleCatalog(
      bundledEntries(),
      settingsOf(
        [{ line: 1, model: 'gpt-6-sol', service_tier: 'night', input, output: '1' }],
        [],
        ['openai'],
      ),
    )
  const cost = {
    kind: 'cost',
    costPico: 600_000_000n,
    price: { id: expect.stringContaining('gpt-6-sol#night.') },
  }
  expect(repriceCall(night('0.5'), unpriced, tier)).toMatchObject({ ...cost, wasUnpriced: true })
  expect(repriceRow(night('0.5'), rowOf([unpriced]), tier)).toMatchObject({ ...cost, pricedCalls: 1n })
  // At the standard tier the model has a price; at theirs it is unknown.
  expect(repriceCall(buildCatalog(), unpriced, tier)).toEqual({ kind: 'as_metered' })
  expect(repriceRow(buildCatalog(), rowOf([unpriced]), tier)).toEqual({ kind: 'as_metered' })
})

test('what a job used stays at the tier of its prompts, however many tokens they were together', () => {
  const catalog = buildCatalog()
  const call = {
    provider: 'gemini',
    upstream: 'gemini',
    clientName: null,
    model: 'gemini-2.5-pro',
    requestedModel: null,
    usage: { ...NO_USAGE, inputTokens: 500_000, outputTokens: 10 },
    units: NO_UNITS,
    serviceTier: null,
    arrivedAtMs: Date.parse('2026-11-20T12:00:00Z'),
    reportedCostPico: null,
    parts: null,
  }
  const short = catalog.priceCall({ ...call, largestPrompt: 5_000 })
  if (short.kind !== 'priced') throw new Error('it has no price')
  const { costPico, priceId, price } = short
  const past: PastCall = {
    ...call,
    reportedModel: call.model,
    usageSource: 'reported',
    usageRaw: null,
    costPico,
    priceId,
    isSettlement: true,
  }
  const oldPrice = parsePrice(price.json)
  expect(repriceCall(catalog, past, oldPrice)).toEqual({ kind: 'as_metered' })
  expect(repriceCall(catalog, { ...past, costPico: null, priceId: null }, null)).toEqual({
    kind: 'as_metered',
  })
  expect(repriceCall(catalog, { ...past, isSettlement: false }, oldPrice)).toMatchObject({ kind: 'cost' })
})
