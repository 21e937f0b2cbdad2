import { expect, test } from 'vitest'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import type { CatalogEntries } from '../../../src/pricing/catalog/catalog-entries.ts'
import type { LinearDefinition } from '../../../src/pricing/price-definition.ts'
import { parseCatalog } from '../../../src/pricing/sources/catalog-parse.ts'

interface Listed {
  readonly match?: object
  readonly prices: object
  readonly service_tiers?: object
  readonly in_force_from?: string
}

/** A source of price data: models by provider. */
function sourceOf(
  source: string,
  lists: Record<string, Record<string, Listed>>,
  fallbacks = {},
): CatalogEntries {
  const providers = Object.entries(lists).map(([id, models]) => ({
    id,
    models: Object.entries(models).map(([model, listed]) => ({
      id: model,
      match: { equals: model },
      ...listed,
    })),
    ...(id in fallbacks ? { fallback_model_providers: Object.values(fallbacks).flat() } : {}),
  }))
  const { entries, problems } = parseCatalog(providers, source)
  if (entries === null) throw new Error(problems.join())
  return entries
}

/** What a model costs by `layers`, in dollars a million, and where that is from. */
function priceBy(
  layers: readonly CatalogEntries[],
  model: string,
  { provider = 'together', serviceTier = null as string | null, day = '2026-11-20' } = {},
): string {
  const [first] = layers.filter(({ source }) => !source.startsWith('corrections@'))
  if (first === undefined) throw new Error('no sources')
  const catalog = buildCatalog({ entries: { source: 'all', providers: first.providers, layers } })
  const atMs = Date.parse(`${day}T12:00:00Z`)
  const found = catalog.findPrices({ provider, upstream: 'up', clientName: null, model, serviceTier, atMs })
  if (found === null) return 'none'
  return found.prices.tiers.map(({ usual }) => render(usual.definition)).join(' | ')
}

function render({ source, provider, model, rates, context }: LinearDefinition): string {
  const dollars = Object.entries(rates).map(([name, pico]) => `${name} ${Number(pico) / 1e6}`)
  const size = context === null ? '' : ` from ${context.above}`
  return `${source}: ${provider}/${model}${size}: ${dollars.join(', ')}`
}

const IN_OUT = { input_mtok: 2, output_mtok: 8 }

test('the first source that lists a model exactly has the word, an exact name in a later one before a revision', () => {
  const a = sourceOf('a@1', { together: { one: { prices: IN_OUT } } })
  const b = sourceOf('b@1', {
    together: {
      one: { prices: { input_mtok: 3, output_mtok: 9 } },
      'one-2026-03-05': { prices: { input_mtok: 4, output_mtok: 9 } },
      two: { prices: { input_mtok: 5, output_mtok: 9 } },
    },
  })
  expect(priceBy([a, b], 'one')).toBe('a@1: together/one: input 2, output 8')
  expect(priceBy([a, b], 'one-2026-03-05')).toBe('b@1: together/one-2026-03-05: input 4, output 9')
  expect(priceBy([a, b], 'one-2026-04-05')).toBe('a@1: together/one: input 2, output 8')
  expect(priceBy([a, b], 'two')).toBe('b@1: together/two: input 5, output 9')
  expect(priceBy([a, b], 'two-tts')).toBe('none')
  expect(priceBy([b, a], 'one')).toBe('b@1: together/one: input 3, output 9')
})

test('a price keeps its identity where a later source lists a revision of the model at the same price', () => {
  const a = sourceOf('a@1', { together: { one: { prices: IN_OUT } } })
  const b = sourceOf('b@1', { together: { 'one-2026-03-05': { prices: IN_OUT } } })
  expect(priceBy([a, b], 'one-2026-03-05')).toBe('a@1: together/one: input 2, output 8')
})

test('a class that the first source lacks is taken from one that agrees on all others, and both are named', () => {
  const a = sourceOf('a@1', { together: { one: { prices: IN_OUT } } })
  const b = sourceOf('b@1', { together: { one: { prices: { ...IN_OUT, cache_read_mtok: 0.2 } } } })
  const c = sourceOf('c@1', {
    together: { one: { prices: { ...IN_OUT, cache_read_mtok: 0.5, cache_write_mtok: 3 } } },
  })
  expect(priceBy([a, b], 'one')).toBe('a@1+b@1: together/one: input 2, cacheRead 0.2, output 8')
  // The third contradicts what the second added.
  expect(priceBy([a, b, c], 'one')).toBe('a@1+b@1: together/one: input 2, cacheRead 0.2, output 8')
  expect(priceBy([a, c], 'one')).toBe('a@1+c@1: together/one: input 2, cacheRead 0.5, cacheWrite 3, output 8')
})

test('sources that contradict each other in one class are not mixed in any, at any size of prompt', () => {
  const a = sourceOf('a@1', { together: { one: { prices: IN_OUT } } })
  const other = sourceOf('b@1', {
    together: { one: { prices: { input_mtok: 2, output_mtok: 9, cache_read_mtok: 0.2 } } },
  })
  const cliff = { base: 2, tiers: [{ start: 200_000, price: 4 }] }
  const larger = sourceOf('b@1', {
    together: { one: { prices: { input_mtok: cliff, output_mtok: 8, cache_read_mtok: 0.2 } } },
  })
  for (const later of [other, larger]) {
    expect(priceBy([a, later], 'one')).toBe('a@1: together/one: input 2, output 8')
  }
})

test('another measure of the same use is not added, nor a fee for each call', () => {
  const a = sourceOf('a@1', { together: { one: { prices: IN_OUT } } })
  const b = sourceOf('b@1', {
    together: {
      one: { prices: { ...IN_OUT, images_kcount: 40, input_mchars: 15, audio_hours: 1, requests_kcount: 5 } },
    },
  })
  expect(priceBy([a, b], 'one')).toBe('a@1: together/one: input 2, output 8')
})

test("our own rates come before a later source's", () => {
  const b = sourceOf('b@1', { anthropic: { 'claude-x': { prices: { ...IN_OUT, web_searches_kcount: 77 } } } })
  expect(priceBy([b], 'claude-x', { provider: 'anthropic' })).toContain('webSearch 77000')
  const a = sourceOf('a@1', { anthropic: { other: { prices: IN_OUT } } })
  expect(priceBy([a, b], 'claude-x', { provider: 'anthropic' })).toContain('webSearch 10000')
})

test('a name that one source lists without a price is priced by another that lists it, never by a like name', () => {
  const a = sourceOf('a@1', { together: { one: { prices: IN_OUT }, 'one-2026-03-05': { prices: {} } } })
  const b = sourceOf('b@1', { together: { 'one-2026-03-05': { prices: { input_mtok: 7, output_mtok: 8 } } } })
  expect(priceBy([a], 'one-2026-03-05')).toBe('none')
  expect(priceBy([a, b], 'one-2026-03-05')).toBe('b@1: together/one-2026-03-05: input 7, output 8')
})

test("a host's own list in any source comes before its makers', unless the first source says the same", () => {
  const lists = { azure: {}, openai: { one: { prices: IN_OUT }, two: { prices: IN_OUT } } }
  const a = sourceOf('a@1', lists, { azure: ['openai'] })
  const b = sourceOf('b@1', {
    azure: { one: { prices: { input_mtok: 3, output_mtok: 8 } }, two: { prices: IN_OUT } },
  })
  expect(priceBy([a, b], 'one', { provider: 'azure-openai' })).toBe('b@1: azure/one: input 3, output 8')
  expect(priceBy([a, b], 'two', { provider: 'azure-openai' })).toBe('a@1: openai/two: input 2, output 8')
})

test('a source that tells a host apart is asked for that host alone', () => {
  const a = sourceOf('a@1', { google: { other: { prices: IN_OUT } } })
  const b = sourceOf('b@1', {
    google: { one: { prices: IN_OUT }, two: { prices: IN_OUT } },
    'google-vertex': { one: { prices: { input_mtok: 3, output_mtok: 8 } } },
  })
  expect(priceBy([a, b], 'one', { provider: 'gemini' })).toBe('b@1: google/one: input 2, output 8')
  expect(priceBy([a, b], 'one', { provider: 'vertex' })).toBe('b@1: google-vertex/one: input 3, output 8')
  expect(priceBy([a, b], 'two', { provider: 'vertex' })).toBe('none')
})

test('our corrections come first, from their day on', () => {
  const ours = sourceOf('corrections@1', {
    together: {
      one: { prices: { input_mtok: 1, output_mtok: 4 }, in_force_from: '2026-08-01' },
    },
  })
  const a = sourceOf('a@1', { together: { one: { prices: IN_OUT } } })
  expect(priceBy([ours, a], 'one')).toBe('corrections@1: together/one: input 1, output 4')
  expect(priceBy([ours, a], 'one', { day: '2026-07-31' })).toBe('a@1: together/one: input 2, output 8')
})

test('what our corrections say has no price has none, whatever a source lists', () => {
  const ours = sourceOf('corrections@1', { together: { one: { prices: {} } } })
  expect(priceBy([ours, sourceOf('a@1', { together: { one: { prices: IN_OUT } } })], 'one')).toBe('none')
})

test('hours of weekdays are none on Saturdays and Sundays', () => {
  const hours = { start_time: '10:00:00Z', end_time: '14:00:00Z', weekdays_only: true }
  const prices = [{ prices: IN_OUT }, { constraint: hours, prices: { input_mtok: 4, output_mtok: 16 } }]
  const a = sourceOf('a@1', { together: { one: { prices } } })
  const at = (day: string) => priceBy([a], 'one', { day })
  // 2026-11-20 is a Friday.
  expect(['2026-11-20', '2026-11-21', '2026-11-22', '2026-11-23'].map(at)).toEqual([
    'a@1: together/one: input 4, output 16',
    'a@1: together/one: input 2, output 8',
    'a@1: together/one: input 2, output 8',
    'a@1: together/one: input 4, output 16',
  ])
})

test('a tier that we know no factor of is at the prices a source lists for it, if it agrees at the standard one', () => {
  const a = sourceOf('a@1', { mistral: { one: { prices: IN_OUT } } })
  const tiers = { service_tiers: { turbo: { input_mtok: 5, output_mtok: 20, cache_read_mtok: 2 } } }
  const b = sourceOf('b@1', { mistral: { one: { prices: { ...IN_OUT, cache_read_mtok: 1 }, ...tiers } } })
  const other = sourceOf('b@1', { mistral: { one: { prices: { input_mtok: 3, output_mtok: 8 }, ...tiers } } })
  const turbo = { provider: 'mistral', serviceTier: 'turbo' }
  expect(priceBy([a, b], 'one', turbo)).toBe('a@1+b@1: mistral/one: input 5, cacheRead 2, output 20')
  expect(priceBy([a, other], 'one', turbo)).toBe('none')
  expect(priceBy([a, b], 'one', { ...turbo, serviceTier: 'flex' })).toBe('none')
})

test('a tier that a source lists by halves is unpriced, no class or size of it at the standard price', () => {
  const sized = (base: number, price: number) => ({ base, tiers: [{ start: 200_000, price }] })
  const at = (prices: object, turbo: object) => {
    const a = sourceOf('a@1', { together: { one: { prices, service_tiers: { turbo } } } })
    return priceBy([a], 'one', { serviceTier: 'turbo' })
  }
  expect(at(IN_OUT, { input_mtok: 1 })).toBe('none')
  expect(at({ ...IN_OUT, cache_read_mtok: 0.5 }, { input_mtok: 1, output_mtok: 4 })).toBe('none')
  expect(at({ input_mtok: sized(2, 4), output_mtok: 8 }, { input_mtok: 1, output_mtok: 4 })).toBe('none')
  // What costs the same as all input does so at the tier too, and fees are of no tier.
  expect(
    at({ ...IN_OUT, input_image_mtok: 2, web_searches_kcount: 10 }, { input_mtok: 1, output_mtok: 4 }),
  ).toBe('a@1: together/one: input 1, output 4, webSearch 10000')
})

test('what GovCloud costs is given by its own entries alone', () => {
  const prices = IN_OUT
  const bedrock = (model: string) => ({
    aws: { [`regional.${model}`]: { match: { contains: model }, prices } },
  })
  const a = sourceOf('a@1', bedrock('anthropic.claude-x-v1:0'))
  const at = (layers: readonly CatalogEntries[]) =>
    priceBy(layers, 'us-gov.anthropic.claude-x-v1:0', { provider: 'bedrock' })
  expect(priceBy([a], 'eu.anthropic.claude-x-v1:0', { provider: 'bedrock' })).toContain('input 2')
  expect(at([a])).toBe('none')
  const id = 'us-gov.anthropic.claude-x-v1:0'
  const b = sourceOf('b@1', { aws: { [id]: { prices: { input_mtok: 3, output_mtok: 9 } } } })
  expect(at([a, b])).toBe(`b@1: aws/${id}: input 3, output 9, webSearch 10000, webFetch 0`)
})
