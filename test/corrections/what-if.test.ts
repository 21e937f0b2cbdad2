import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { addOwnPrices, buildPriceConfig } from '../../src/config/yaml/price-config.ts'
import { priceOtherwise } from '../../src/corrections/what-if/price-otherwise.ts'
import { reckonWhatIf } from '../../src/corrections/what-if/reckon.ts'
import type { Supposed } from '../../src/corrections/what-if/supposed.ts'
import { tokenRatios } from '../../src/corrections/what-if/token-ratio.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import type { Catalog } from '../../src/pricing/catalog/catalog.ts'
import type { CallToPrice } from '../../src/pricing/catalog/catalog-call.ts'
import type { Price } from '../../src/pricing/price.ts'
import { parsePrice } from '../../src/pricing/price-parse.ts'
import type { PastCall } from '../../src/pricing/repricing/repricing.ts'
import { bundledEntries } from '../../src/pricing/sources/catalog-bundle.ts'
import { randomOf } from '../model/faults/random.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'

const UPSTREAMS = ['openai', 'anthropic', 'gemini'] as const
const MODELS = [
  ['openai', 'gpt-4o'],
  ['openai', 'gpt-4o-mini'],
  ['openai', 'no-such-model'],
  ['gemini', 'gemini-2.5-pro'],
  ['anthropic', 'claude-sonnet-4-6'],
] as const
const DAY = addDays(utcDayOf(Date.now()), -1)
const MIDNIGHT = Date.parse(`${DAY}T00:00:00Z`)
const OTHER_PRICES = [
  { model: 'gpt-4o', input: '1.5', cached_input: '0.7', output: '7', per_request: '0.001' },
  { model: 'gpt-4o-mini', input: '0.1', output: '0.5', web_search: '9' },
  { model: 'claude-*', input: '2', output: '11.000001' },
  { model: 'no-such-model', input: '1', output: '2' },
]
const AS_YAML = `prices:\n${OTHER_PRICES.map((price) => `  - ${JSON.stringify(price)}\n`).join('')}`

function configOf(prices: readonly Record<string, string>[]) {
  return buildPriceConfig(
    { entries: bundledEntries(), text: () => '' },
    { prices: prices.map((price, index) => ({ ...price, line: index + 1 })), markups: [] },
    UPSTREAMS.map((name) => ({ name, provider: name, pricesOf: null, trustReportedCost: false })),
  )
}

const NOW = configOf([{ model: 'gpt-4o', input: '3', output: '9' }])
/** As a gateway has it that was started with the other prices. */
const GATEWAY = configOf(OTHER_PRICES)

function added(): Catalog {
  const then = addOwnPrices(NOW, AS_YAML)
  if (!('priceCall' in then)) throw new Error(then.join())
  return then
}

function supposing(changes: Partial<Supposed>): Supposed {
  return {
    models: [],
    tier: null,
    cachedShare: null,
    pricesNow: NOW.catalog,
    pricesThen: NOW.catalog,
    placeOf: (upstream) => ({ provider: upstream, upstream }),
    ...changes,
  }
}

/** Calls of a month or a day, as a gateway meters them. */
function calls(count: number, seed: number): { readonly call: CallToPrice; readonly past: PastCall }[] {
  const random = randomOf(seed)
  return Array.from({ length: count }, () => {
    const [provider, model] = MODELS[random(MODELS.length)] ?? MODELS[0]
    const inputTokens = random(20) === 0 ? 0 : random(random(4) === 0 ? 400_000 : 3_000)
    const outputTokens = inputTokens === 0 ? 0 : random(3_000)
    const usage = {
      ...NO_USAGE,
      inputTokens,
      outputTokens,
      cacheReadTokens: random(inputTokens / 2),
      cacheWriteTokens: provider === 'anthropic' ? random(inputTokens / 3) : null,
      reasoningTokens: random(2) === 0 ? null : random(outputTokens),
    }
    const call: CallToPrice = {
      provider,
      upstream: provider,
      clientName: null,
      model,
      requestedModel: model,
      usage,
      units: { ...NO_UNITS, webSearches: provider === 'openai' && random(10) === 0 ? 2 : null },
      serviceTier: provider === 'openai' && random(4) === 0 ? 'priority' : null,
      arrivedAtMs: MIDNIGHT + random(86_400_000),
      reportedCostPico: null,
      parts: null,
    }
    return { call, past: metered(call) }
  })
}

const PRICES = new Map<string, Price>()

function metered(call: CallToPrice): PastCall {
  const cost = NOW.catalog.priceCall(call)
  const price = cost.kind === 'priced' ? cost.price : cost.tier
  if (price !== undefined) PRICES.set(price.id, parsePrice(price.json) ?? price)
  return {
    provider: call.provider,
    upstream: call.upstream,
    clientName: null,
    reportedModel: call.model,
    requestedModel: call.requestedModel,
    usageSource: 'reported',
    usage: call.usage,
    units: call.units,
    usageRaw: null,
    arrivedAtMs: call.arrivedAtMs,
    costPico: cost.kind === 'priced' ? cost.costPico : cost.reason === 'nothing_used' ? 0n : null,
    unpricedReason: cost.kind === 'priced' ? null : cost.reason,
    priceId: price?.id ?? null,
  }
}

/** What the what-if says of a call, `null` where it says that nothing can tell. */
function supposedCost(supposed: Supposed, past: PastCall): readonly [bigint, bigint] | null {
  const price = past.priceId === null ? null : (PRICES.get(past.priceId) ?? null)
  const found = priceOtherwise(supposed, past.reportedModel ?? '', past, price)
  if (found.kind === 'unknown') return null
  if (found.kind === 'same') return past.costPico === null ? null : [past.costPico, past.costPico]
  return [found.leastPico, found.mostPico]
}

test.each<[string, Partial<Supposed>, (call: CallToPrice) => CallToPrice]>([
  ['other prices', { pricesThen: added() }, (call: CallToPrice) => call],
  [
    'another model of the same maker',
    { models: [{ from: 'gpt-4o', to: 'gpt-4o-mini' }] },
    (call: CallToPrice) =>
      call.model === 'gpt-4o' ? { ...call, model: 'gpt-4o-mini', requestedModel: 'gpt-4o-mini' } : call,
  ],
  [
    'another tier',
    { tier: { from: 'priority', to: 'standard' } as const },
    (call: CallToPrice) => ({ ...call, serviceTier: null }),
  ],
])('calls cost with %s what a gateway that has them says, to the picodollar', (what, changes, rewrite) => {
  const gateway = what === 'other prices' ? GATEWAY.catalog : NOW.catalog
  const sums = { known: 0, changed: 0, supposed: 0n, real: 0n }
  for (const { call, past } of calls(3_000, 1)) {
    const really = gateway.priceCall(rewrite(call))
    const cost = supposedCost(supposing(changes), past)
    if (cost === null) {
      expect([past.costPico, really.kind]).not.toEqual([expect.any(BigInt), 'priced'])
      continue
    }
    const [least, most] = cost
    expect(least).toBe(most)
    const real = really.kind === 'priced' ? really.costPico : 0n
    expect({ call, cost: least }).toEqual({ call, cost: real })
    sums.known += 1
    if (real !== past.costPico) sums.changed += 1
    sums.supposed += least
    sums.real += real
  }
  expect(sums.known).toBeGreaterThan(2_000)
  expect(sums.changed).toBeGreaterThan(100)
  expect(sums.supposed).toBe(sums.real)
})

test('a model of another family costs between two bounds, which are far apart by what tokenizers differ', () => {
  const [least, most] = tokenRatios('gpt-4o', 'claude-sonnet-4-6')
  expect(least?.prompt).toBeCloseTo(1.17 / 1.16, 5)
  expect(most?.prompt).toBeCloseTo(1.17 / 0.87, 5)
  expect(tokenRatios('gpt-4o', 'gpt-5.2')).toHaveLength(1)
  const [first] = calls(50, 2).filter(({ past }) => past.reportedModel === 'gpt-4o' && past.costPico !== 0n)
  const models = [{ from: 'gpt-*', to: 'claude-sonnet-4-6' }]
  const placeOf = () => ({ provider: 'anthropic', upstream: 'anthropic' })
  const found = first && supposedCost(supposing({ models, placeOf }), { ...first.past, units: NO_UNITS })
  expect(found?.[0]).toBeLessThan(found?.[1] ?? 0n)
})

test('more caching lies between no token written to the cache and all that are not read', () => {
  const usage = { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 0 }
  const [{ call } = { call: null }] = calls(1, 3)
  if (call === null) throw new Error('no call')
  const asked = {
    ...call,
    provider: 'anthropic',
    upstream: 'anthropic',
    usage,
    units: NO_UNITS,
    serviceTier: null,
  }
  const past = metered({ ...asked, model: 'claude-sonnet-4-5', requestedModel: 'claude-sonnet-4-5' })
  const found = supposedCost(supposing({ cachedShare: 0.9 }), past)
  const real = (read: number, written: number) =>
    metered({
      ...asked,
      ...{ model: 'claude-sonnet-4-5', requestedModel: 'claude-sonnet-4-5' },
      usage: { ...usage, cacheReadTokens: read, cacheWriteTokens: written, cacheWrite5mTokens: written },
    }).costPico
  expect(found).toEqual([real(900_000, 0), real(900_000, 100_000)])
})

let ledger: LedgerDatabase
beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())

function recordOf({ call, past }: { call: CallToPrice; past: PastCall }): CallRecord {
  const price = past.priceId === null ? null : (PRICES.get(past.priceId) ?? null)
  return aRecord({
    arrivedAtMs: call.arrivedAtMs,
    upstream: past.upstream,
    provider: past.provider,
    requestedModel: past.requestedModel,
    reportedModel: past.reportedModel,
    model: past.reportedModel ?? '',
    usage: past.usage,
    units: past.units,
    usageRaw: null,
    serviceTier: call.serviceTier ?? undefined,
    costPico: past.costPico === null ? null : `${past.costPico}`,
    priceId: past.priceId,
    price: price?.json ?? null,
    ...(past.costPico === null ? { unpricedReason: past.unpricedReason ?? 'no_price' } : {}),
  })
}

test('a day of stored calls comes to what a gateway with other prices would have metered', async () => {
  const made = calls(300, 4)
  const producer = newProducer()
  await ledger.rollUp(
    'test',
    made.map((one, index) => aCandidate(producer, index + 1, recordOf(one))),
  )
  const known = made.filter(({ past }) => past.costPico !== null)
  const real = known.reduce((sum, { call }) => {
    const cost = GATEWAY.catalog.priceCall(call)
    return sum + (cost.kind === 'priced' ? cost.costPico : 0n)
  }, 0n)
  const scope = { model: '*', provider: null, since: DAY, until: DAY }
  const ask = () => reckonWhatIf(ledger.pool, scope, supposing({ pricesThen: added() }), () => {})
  const found = await ask()
  expect(found.total).toMatchObject({
    calls: BigInt(known.length),
    nowPico: known.reduce((sum, { past }) => sum + (past.costPico ?? 0n), 0n),
    leastPico: real,
    mostPico: real,
  })
  expect(found.oneByOne).toBe(BigInt(made.length))
  const leftOut = [...found.leftOut.values()].reduce((sum, { calls: count }) => sum + count, 0n)
  expect(leftOut).toBe(BigInt(made.length - known.length))
  expect(found.savings.savedPico).toBeGreaterThan(0n)

  // Without the calls: the sums of their rows.
  await ledger.pool.query('delete from tallygate.call_rows')
  const bySums = await ask()
  expect(bySums.oneByOne).toBe(0n)
  const others = [...bySums.leftOut.values()].reduce((sum, { calls: count }) => sum + count, 0n)
  expect(bySums.total.calls + others).toBe(BigInt(made.length))
  const rows = bySums.rows.filter(({ model }) => model === 'gpt-4o-mini')
  expect(rows).toEqual(found.rows.filter(({ model }) => model === 'gpt-4o-mini'))
})

test('only calls of the client, key, model and upstream that are asked for are looked at', async () => {
  const producer = newProducer()
  const one = { clientId: 'cli_b', keyId: 'key_b', arrivedAtMs: MIDNIGHT }
  await ledger.rollUp('test', [
    aCandidate(producer, 1, aRecord(one)),
    aCandidate(producer, 2, aRecord({ ...one, keyId: 'key_c' })),
    aCandidate(producer, 3, aRecord({ ...one, upstream: 'other' })),
  ])
  const base = { model: 'gpt-4o*', provider: null, since: DAY, until: DAY, clientId: 'cli_b' }
  const callsOf = async (scope: object) => {
    const { total, leftOut } = await reckonWhatIf(
      ledger.pool,
      { ...base, ...scope },
      supposing({ cachedShare: null }),
      () => {},
    )
    return total.calls + [...leftOut.values()].reduce((sum, { calls: count }) => sum + count, 0n)
  }
  expect(await callsOf({})).toBe(3n)
  expect(await callsOf({ keyId: 'key_c' })).toBe(1n)
  expect(await callsOf({ upstream: 'other' })).toBe(1n)
  expect(await callsOf({ model: 'claude-*' })).toBe(0n)
  expect(await callsOf({ groupId: 'none' })).toBe(0n)
  expect(await callsOf({ since: addDays(DAY, 1), until: addDays(DAY, 1) })).toBe(0n)
})
