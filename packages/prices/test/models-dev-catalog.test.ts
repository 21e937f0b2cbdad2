import { expect, test } from 'vitest'
import { type CatalogDocument, catalogDocumentOf } from '../src/catalog-document.ts'
import { readModelsDevCatalog } from '../src/models-dev-catalog.ts'

const KNOWN = catalogDocumentOf([
  {
    id: 'openai',
    models: [
      { id: 'gpt-5', match: { equals: 'gpt-5' }, prices: { input_mtok: 1.25, output_mtok: 10 } },
      { id: 'gpt-4', match: { equals: 'gpt-4' }, prices: { input_mtok: 30, output_mtok: 60 } },
    ],
  },
  { id: 'vercel', models: [{ id: 'openai/o3', match: { equals: 'openai/o3' }, prices: { input_mtok: 2 } }] },
])

/** As models.dev publishes them: `api.json` has them by provider. */
const api = (models: object, provider = 'openai') =>
  JSON.stringify({ [provider]: { id: provider, env: [], npm: 'x', models } })
const text = { input: ['text'], output: ['text'] }

function read(written: string, known: CatalogDocument = KNOWN) {
  const { text: catalog, problems, unread } = readModelsDevCatalog(written, known)
  const providers: CatalogDocument = catalog === null ? [] : catalogDocumentOf(JSON.parse(catalog))
  const pricesOf = (id: string, name: string) =>
    providers.find((one) => one.id === id)?.models.find((model) => model.id === name)?.prices[0]?.prices ??
    null
  return { problems, unread, pricesOf }
}

test('models have their tokens, caches, sound and sizes of prompt; what the list does not name stays', () => {
  const { pricesOf, problems } = read(
    api({
      'gpt-5': { modalities: text, cost: { input: 1, output: 8, cache_read: 0.1, cache_write: 0 } },
      'gpt-5.4': {
        modalities: text,
        cost: {
          ...{ input: 2.5, output: 15, cache_read: 0.25, input_audio: 5 },
          tiers: [{ input: 5, output: 22.5, cache_read: 0.5, tier: { type: 'context', size: 272_000 } }],
          context_over_200k: { input: 9, output: 9 },
        },
      },
      'old-form': {
        cost: { input: 1, output: 2, context_over_200k: { input: 2, output: 4 } },
      },
      'gpt-image': { modalities: { output: ['image'] }, cost: { input: 5, output: 40 } },
      'text-embedding': { modalities: text, cost: { input: 0.1, output: 0 } },
      'no-price': { modalities: text },
    }),
  )
  expect(problems).toEqual([])
  expect(pricesOf('openai', 'gpt-5')).toEqual({ cache_read_mtok: 0.1, input_mtok: 1, output_mtok: 8 })
  // Audio has no price over that size, so none is known.
  expect(pricesOf('openai', 'gpt-5.4')).toEqual({
    cache_read_mtok: { base: 0.25, tiers: [{ start: 272_000, price: 0.5 }] },
    input_mtok: { base: 2.5, tiers: [{ start: 272_000, price: 5 }] },
    output_mtok: { base: 15, tiers: [{ start: 272_000, price: 22.5 }] },
  })
  expect(pricesOf('openai', 'old-form')).toMatchObject({
    input_mtok: { base: 1, tiers: [{ start: 200_000, price: 2 }] },
  })
  for (const name of ['gpt-image', 'text-embedding', 'no-price']) expect(pricesOf('openai', name)).toBeNull()
  expect(pricesOf('openai', 'gpt-4')).toEqual({ input_mtok: 30, output_mtok: 60 })
  expect(pricesOf('vercel', 'openai/o3')).toEqual({ input_mtok: 2 })
})

test('a model that cannot be read is named and keeps its price, and a list of few known ones is refused', () => {
  const broken = read(
    api({
      'gpt-5': { modalities: text, cost: { input: -1, output: 8 } },
      'gpt-4': { modalities: text, cost: { input: 30, output: 60 } },
    }),
  )
  expect(broken.unread).toEqual([{ provider: 'openai', model: 'gpt-5', why: 'a price is negative' }])
  expect(broken.pricesOf('openai', 'gpt-5')).toEqual({ input_mtok: 1.25, output_mtok: 10 })
  for (const [written, problem] of [
    ['{', /is not JSON/],
    ['[]', /it lists 0 of the 3 models/],
    [api({ 'gpt-9': { cost: { input: 1, output: 8 } } }), /it lists 0 of the 3 models/],
    [
      JSON.stringify({ openai: { models: { a: { cost: 1 }, b: { cost: 1 }, c: {} } } }),
      /openai\/a: .*openai\/b/,
    ],
  ] as const) {
    expect(read(written).problems).toEqual([expect.stringMatching(problem)])
  }
})
