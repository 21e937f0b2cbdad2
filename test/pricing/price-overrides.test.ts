import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { buildCatalog, type CatalogOptions } from '../../src/pricing/catalog/catalog.ts'
import type { CallToPrice } from '../../src/pricing/catalog/catalog-call.ts'
import { OVERRIDE_FIELDS } from '../../src/pricing/overrides/price-overrides.ts'
import { parseOverrides, type WrittenEntry } from '../../src/pricing/overrides/price-overrides-parse.ts'
import { findFactors, parseMarkups } from '../../src/pricing/price-markups.ts'

const UPSTREAMS = ['openai', 'rack']

function overridesOf(...entries: Record<string, string>[]) {
  const written = entries.map((entry, index): WrittenEntry => ({ ...entry, line: index + 10 }))
  const { overrides, problems } = parseOverrides(written, UPSTREAMS)
  expect(problems).toEqual([])
  return overrides
}

/** A call of one input token: its cost is the price of one. */
function priceOfOne(options: CatalogOptions, call: Partial<CallToPrice>) {
  return buildCatalog(options).priceCall({
    provider: 'vllm',
    upstream: 'rack',
    clientName: null,
    model: 'llama-3-70b',
    requestedModel: null,
    usage: { ...NO_USAGE, inputTokens: 1 },
    units: NO_UNITS,
    serviceTier: null,
    arrivedAtMs: Date.parse('2026-11-20T12:00:00Z'),
    reportedCostPico: null,
    parts: null,
    ...call,
  })
}

function costOfOne(options: CatalogOptions, call: Partial<CallToPrice>): string {
  const answer = priceOfOne(options, call)
  return answer.kind === 'priced' ? answer.costPico.toString() : answer.reason
}

test('an exact name beats a prefix, and a longer prefix a shorter one, in any order of entries', () => {
  const entries = [
    { model: '*', input: '1' },
    { model: 'llama*', input: '2' },
    { model: 'llama-3*', input: '3' },
    { model: 'llama-3-70b', input: '4' },
  ]
  for (const order of [entries, entries.toReversed()]) {
    const overrides = overridesOf(...order)
    expect(costOfOne({ overrides }, {})).toBe('4000000')
    expect(costOfOne({ overrides }, { model: 'llama-3-8b' })).toBe('3000000')
    expect(costOfOne({ overrides }, { model: 'llama-2' })).toBe('2000000')
    expect(costOfOne({ overrides }, { model: 'qwen' })).toBe('1000000')
  }
})

test('the entry with the later day is the price of a name from that day on, UTC', () => {
  const overrides = overridesOf(
    { model: 'm', input: '3', from: '2026-06-01' },
    { model: 'm', input: '1' },
    { model: 'm', input: '2', from: '2026-01-01' },
  )
  const at = (time: string) => costOfOne({ overrides }, { model: 'm', arrivedAtMs: Date.parse(time) })
  expect(at('2025-12-31T23:59:59.999Z')).toBe('1000000')
  expect(at('2026-01-01T00:00:00.000Z')).toBe('2000000')
  expect(at('2026-05-31T23:59:59.999Z')).toBe('2000000')
  expect(at('2026-06-01T00:00:00.000Z')).toBe('3000000')
})

test('an entry not yet in force leaves the price to what is: a prefix, or the catalog', () => {
  const overrides = overridesOf(
    { model: 'gpt-4o', input: '9', from: '2027-01-01' },
    { model: 'llama*', input: '2' },
  )
  expect(costOfOne({ overrides }, { provider: 'openai', model: 'gpt-4o' })).toBe('2500000')
  expect(costOfOne({ overrides }, {})).toBe('2000000')
})

test('an entry for an upstream or a provider is for no other, and beats one for all', () => {
  const overrides = overridesOf(
    { model: 'm', input: '1' },
    { model: 'm', input: '2', provider: 'vllm' },
    { model: 'm', input: '3', upstream: 'rack' },
  )
  expect(costOfOne({ overrides }, { model: 'm' })).toBe('3000000')
  expect(costOfOne({ overrides }, { model: 'm', upstream: 'other' })).toBe('2000000')
  expect(costOfOne({ overrides }, { model: 'm', upstream: 'other', provider: 'openai' })).toBe('1000000')
})

test("an explicit '0' is a price: free, and not unpriced", () => {
  const overrides = overridesOf({ model: 'llama-3*', provider: 'vllm', input: '0', output: '0' })
  expect(costOfOne({ overrides }, {})).toBe('0')
  expect(costOfOne({ overrides }, { model: 'llama-2' })).toBe('no_price')
})

test('an entry stands alone: what it does not name is not taken from the catalog', () => {
  const overrides = overridesOf({ model: 'gpt-4o', output: '1' })
  expect(costOfOne({ overrides }, { provider: 'openai', model: 'gpt-4o' })).toBe('use_without_price')
})

test("the operator's price of the requested name beats the catalog's of the reported one", () => {
  const overrides = overridesOf({ model: 'our-gpt', input: '7' })
  const call = { provider: 'azure-openai', model: 'gpt-4o-2024-08-06', requestedModel: 'our-gpt' }
  expect(costOfOne({ overrides }, call)).toBe('7000000')
  expect(costOfOne({}, call)).toBe('2500000')
})

test('every field is the price of its own count', () => {
  const overrides = overridesOf({
    model: 'm',
    input: '1',
    cached_input: '2',
    cache_write: '3',
    cache_write_1h: '4',
    audio_input: '5',
    cached_audio_input: '6',
    image_input: '7',
    output: '8',
    reasoning: '9',
    audio_output: '10',
    image_output: '11',
    per_request: '0.000013',
    web_search: '14',
    search_unit: '15',
    image: '16',
    audio_hour: '3.6',
    character: '18',
    page: '19',
  })
  const answer = priceOfOne({ overrides }, { model: 'm' })
  expect(answer.kind === 'priced' && JSON.parse(answer.price.json).rates).toEqual({
    input: '1000000',
    cacheRead: '2000000',
    cacheWrite: '3000000',
    cacheWrite1h: '4000000',
    audioInput: '5000000',
    cacheReadAudio: '6000000',
    imageInput: '7000000',
    output: '8000000',
    reasoning: '9000000',
    audioOutput: '10000000',
    imageOutput: '11000000',
    request: '13000000',
    webSearch: '14000000',
    searchUnit: '15000000',
    image: '16000000',
    audioMs: '1000000',
    character: '18000000',
    page: '19000000',
  })
  expect(answer.kind === 'priced' && answer.costPico).toBe(14_000_000n)
})

test('a price for a service tier is for its calls only; without one they are at the standard price, and say so', () => {
  const overrides = overridesOf(
    { model: 'm', input: '2' },
    { model: 'm', input: '1', service_tier: 'flex' },
    { model: 'm', input: '5', service_tier: 'night' },
  )
  const idAt = (serviceTier: string | null) => {
    const answer = priceOfOne({ overrides }, { model: 'm', serviceTier })
    return answer.kind === 'priced'
      ? `${answer.costPico} ${answer.priceId.replace(/\.[0-9a-f]+$/, '')}`
      : answer.reason
  }
  expect(idAt(null)).toBe('2000000 */m#std')
  expect(idAt('default')).toBe('2000000 */m#std')
  expect(idAt('flex')).toBe('1000000 */m#flex')
  expect(idAt('Night')).toBe('5000000 */m#night')
  expect(idAt('priority')).toBe('2000000 */m#priority?standard')
})

test('markups multiply, go into the rate before it is rounded, and into the identity', () => {
  const { markups, problems } = parseMarkups(
    [
      { line: 1, client: 'acme', factor: '1.2' },
      { line: 2, upstream: 'rack', factor: '0.90' },
      { line: 3, client: 'acme', upstream: 'openai', factor: '2' },
    ],
    UPSTREAMS,
  )
  expect(problems).toEqual([])
  const overrides = overridesOf({ model: 'm', input: '0.0000015' })
  const of = (clientName: string | null, upstream: string) => {
    const answer = priceOfOne({ overrides, markups }, { model: 'm', clientName, upstream })
    return answer.kind === 'priced' ? [answer.costPico, JSON.parse(answer.price.json).factor] : answer.reason
  }
  expect(of(null, 'other')).toEqual([2n, '1'])
  expect(of('acme', 'other')).toEqual([2n, '1.2'])
  expect(of('acme', 'rack')).toEqual([2n, '1.08'])
  expect(of('someone', 'rack')).toEqual([1n, '0.9'])
  expect(of('acme', 'openai')).toEqual([4n, '2.4'])
})

test('of markups for the same client and upstream the latest that has begun holds, from midnight in UTC on', () => {
  const { markups, problems } = parseMarkups(
    [
      { line: 1, client: 'acme', factor: '2' },
      { line: 2, client: 'acme', from: '2026-03-01', factor: '3' },
      { line: 3, client: 'acme', from: '2026-02-01', factor: '5' },
      { line: 4, from: '2026-03-01', factor: '1.5' },
    ],
    UPSTREAMS,
  )
  expect(problems).toEqual([])
  const factorOf = findFactors(markups)
  const at = (time: string, client = 'acme') => factorOf(client, 'rack', Date.parse(time)).text
  expect(at('2026-01-31T23:59:59.999Z')).toBe('2')
  expect(at('2026-02-01T00:00:00Z')).toBe('5')
  expect(at('2026-02-28T23:59:59.999Z')).toBe('5')
  expect(at('2026-03-01T00:00:00Z')).toBe('4.5')
  expect(at('2026-02-01T00:00:00Z', 'someone')).toBe('1')
  expect(at('2026-03-01T00:00:00Z', 'someone')).toBe('1.5')
})

test('all problems of all prices are reported at once, each with its line, and nothing of those entries is taken', () => {
  const { overrides, problems } = parseOverrides(
    [
      { line: 3, model: 'good', input: '1', output: '2' },
      { line: 4, input: '1' },
      { line: 5, model: 'a*b', input: '1' },
      { line: 6, model: 'm', input: '-1', output: 'one', colour: 'red' },
      { line: 7, model: 'm', provider: 'unknown', upstream: 'nowhere', from: '2026-02-30', input: '1' },
      { line: 8, model: 'n' },
      { line: 9, model: 'o', cached_input: '1', reasoning: '2' },
      { line: 10, model: 'good', input: '1' },
      { line: 11, model: 'p', input: '0.0000001' },
      { line: 12, model: 'p', input: '1000000001', service_tier: 'A B' },
      { line: 13, model: 'q', input: '1e-3' },
      { line: 14, model: 'q', input: 2, from: '2026-01-01' },
    ],
    UPSTREAMS,
  )
  expect(overrides.map(({ line }) => line)).toEqual([3])
  expect(problems.map(({ line, what }) => `${line}: ${what}`)).toEqual([
    '4: has no model: say which one this is the price of',
    "5: model a*b: '*' may only stand at the end",
    '6: colour: is not a field of a price',
    '6: input -1: is negative',
    "6: output one: is not a plain decimal number of US dollars such as '0.15'",
    '7: no such provider: unknown',
    '7: no such upstream: nowhere',
    '7: from 2026-02-30: is not a day such as 2026-01-31',
    "8: has no price: write '0' for what is free",
    '9: cached_input needs input: it is a part of that',
    '9: reasoning needs output: it is a part of that',
    '10: prices the same calls from the same day as line 3',
    '11: input 0.0000001: is less than the smallest price, 0.000000000001 US dollars for one',
    "12: service_tier A B: up to 40 of a-z, 0-9, '.', '_', '-' and '+'",
    '12: input 1000000001: is more than 1000000000',
    "13: input 1e-3: is not a plain decimal number of US dollars such as '0.15'",
    '14: input: write it in quotes',
  ])
})

test('the same name from another day, for another provider, upstream or tier does not overlap', () => {
  const { problems } = parseOverrides(
    [
      { line: 1, model: 'm', input: '1' },
      { line: 2, model: 'm', input: '1', from: '2026-01-01' },
      { line: 3, model: 'm', input: '1', provider: 'vllm' },
      { line: 4, model: 'm', input: '1', upstream: 'rack' },
      { line: 5, model: 'm', input: '1', service_tier: 'flex' },
      { line: 6, model: 'm*', input: '1' },
    ],
    UPSTREAMS,
  )
  expect(problems).toEqual([])
})

test('all problems of all markups are reported at once, each with its line', () => {
  const { markups, problems } = parseMarkups(
    [
      { line: 1, client: 'a', factor: '1.1' },
      { line: 2, client: 'a', factor: '1.2' },
      { line: 3, upstream: 'nowhere', factor: '-1', percent: '5' },
      { line: 4, client: '' },
      { line: 5, factor: '1001' },
      { line: 6, factor: '0' },
    ],
    UPSTREAMS,
  )
  expect(markups.map(({ line }) => line)).toEqual([1])
  expect(problems.map(({ line, what }) => `${line}: ${what}`)).toEqual([
    '2: is for the same calls as line 1',
    '3: percent: is not a field of a markup',
    '3: no such upstream: nowhere',
    "3: factor -1: is not a decimal number from 0 to 1000, as '1.2'",
    '4: client: is not a name',
    "4: factor : is not a decimal number from 0 to 1000, as '1.2'",
    "5: factor 1001: is not a decimal number from 0 to 1000, as '1.2'",
    '6: is for the same calls as line 5',
  ])
})

test('a markup for calls that are free on every day, and one from no day, are problems', () => {
  const { problems } = parseMarkups(
    [
      { line: 1, upstream: 'rack', factor: '0' },
      { line: 2, upstream: 'rack', from: '2026-01-01', factor: '1.2' },
      { line: 3, client: 'a', from: '2026-02-30', factor: '1.2' },
    ],
    UPSTREAMS,
  )
  expect(problems.map(({ line, what }) => `${line}: ${what}`)).toEqual([
    '3: from 2026-02-30: is not a day such as 2026-01-31',
    '2: is for the same calls as line 1, which are free on every day',
  ])
})

test('the entries in docs/prices.md are good ones, and its table has every field', () => {
  const page = readFileSync(new URL('../../docs/prices.md', import.meta.url), 'utf8')
  const yaml = /```yaml\n(prices:.*?)```/s.exec(page)?.[1] ?? ''
  const { prices, markups } = parseDocument(yaml, { schema: 'failsafe' }).toJS() as Record<
    'prices' | 'markups',
    readonly Record<string, string>[]
  >
  const written = (entries: readonly Record<string, string>[]) =>
    entries.map((entry, index): WrittenEntry => ({ ...entry, line: index + 1 }))
  const upstreams = ['openai', 'azure-eu']
  expect(parseOverrides(written(prices), upstreams)).toMatchObject({ overrides: { length: 3 }, problems: [] })
  expect(parseMarkups(written(markups), upstreams)).toMatchObject({ markups: { length: 3 }, problems: [] })
  for (const { field } of OVERRIDE_FIELDS) expect(page).toContain(`\`${field}\``)
})
