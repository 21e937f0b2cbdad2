import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { BUNDLED, type BundledKind, bundledText } from '#prices/bundled-lists.ts'
import { listProvider } from '../../../scripts/prices/models-dev.ts'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { CATALOG_PROVIDER_IDS, OTHER_PROVIDER_IDS } from '../../../src/pricing/catalog/catalog-providers.ts'
import { readCatalogFile } from '../../../src/pricing/sources/catalog-file.ts'
import { bundledCatalog, mergedText, mergeSources } from '../../../src/pricing/sources/catalog-sources.ts'

const KINDS = (Object.keys(BUNDLED) as BundledKind[]).filter((kind) => kind !== 'azure')

test.each(KINDS)('the bundled list of %s is what its header says, to the byte', (kind) => {
  const { source, day, sha256, providers } = BUNDLED[kind]
  const text = bundledText(kind)
  expect(createHash('sha256').update(text, 'latin1').digest('hex')).toBe(sha256)
  // One character is one byte, so that it is read as it was written.
  expect(text).toMatch(/^[\n\x20-\x7e]*$/)
  expect(source.startsWith(`${kind}@`)).toBe(true)
  expect(day).toMatch(/^20[0-9]{2}-[0-9]{2}-[0-9]{2}$/)
  expect(JSON.parse(text).map(({ id }: { id: string }) => id)).toEqual(providers)
})

test('the bundled sources are read without a problem, ours first, under providers that upstreams can have', () => {
  const { layers = [], source } = bundledCatalog()
  expect(layers.map((layer) => layer.source.replace(/@.*/, ''))).toEqual([
    'corrections',
    'genai-prices',
    'models.dev',
    'litellm',
  ])
  expect(source).toBe(layers.map((layer) => layer.source).join('+'))
  for (const { providers } of layers) {
    for (const id of providers.keys()) expect([...CATALOG_PROVIDER_IDS, ...OTHER_PROVIDER_IDS]).toContain(id)
  }
})

test('merged data is the same after it was kept as text, whatever it was merged from', () => {
  const text = '[{"id":"openai","models":[{"id":"x","match":{"equals":"x"},"prices":{"input_mtok":9}}]}]'
  const { entries: newer } = readCatalogFile(text, 'litellm-file')
  if (newer === null) throw new Error('no entries')
  const litellm = { entries: newer, text: () => text }
  const merged = mergeSources({ litellm })
  const { entries, problems } = readCatalogFile(mergedText({ litellm }))
  expect(problems).toEqual([])
  expect(entries?.source).toBe(merged.source)
  expect(entries?.providers.size).toBe(merged.providers.size)
  const priceOf = (among: typeof merged) => (model: string) =>
    buildCatalog({ entries: among }).findPrices({
      provider: 'openai',
      upstream: 'up',
      clientName: null,
      model,
      serviceTier: null,
      atMs: Date.parse('2026-11-20T12:00:00Z'),
    })?.prices.tiers[0]?.usual.id
  if (entries === null) throw new Error('no entries')
  const models = ['x', 'gpt-6.1-sol', 'gpt-4o']
  expect(models.map(priceOf(entries))).toEqual(models.map(priceOf(merged)))
  expect(models.map(priceOf(entries))).not.toContain(undefined)
})

test('a model of models.dev is taken if it has a price or is named free, and a cache without a price has none', () => {
  const cost = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }
  const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  const list = {
    some: {
      a: {
        type: 'chat',
        id: 'accounts/fireworks/models/a',
        cost: { ...cost, cacheRead: 0.1, tiers: [{ ...cost, cacheRead: 0.2, inputTokensAbove: 200_000 }] },
      },
      b: { type: 'chat', id: 'b', cost: nothing },
      c: { type: 'chat', id: 'c:free', cost: nothing },
      d: { type: 'classifier', id: 'd', cost },
      e: { type: 'chat', id: 'e', cost },
    },
  }
  expect(listProvider('fireworks', list).models).toEqual([
    {
      id: 'a',
      match: { equals: 'accounts/fireworks/models/a' },
      prices: {
        input_mtok: { base: 1, tiers: [{ start: 200_000, price: 1 }] },
        output_mtok: { base: 2, tiers: [{ start: 200_000, price: 2 }] },
        cache_read_mtok: { base: 0.1, tiers: [{ start: 200_000, price: 0.2 }] },
      },
    },
    { id: 'c:free', match: { equals: 'c:free' }, prices: { input_mtok: 0, output_mtok: 0 } },
    { id: 'e', match: { equals: 'e' }, prices: { input_mtok: 1, output_mtok: 2 } },
  ])
  expect(() =>
    listProvider('openai', { some: { a: { ...list.some.e, cost: { ...cost, input: -1 } } } }),
  ).toThrow()
})
